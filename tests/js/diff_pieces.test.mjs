import assert from "node:assert/strict";
import { test } from "node:test";

import { piecesOf } from "../../static/js/diff_pieces.js";

const side = (text, marks = [], names = []) => ({ kind: "c", name: "a", line: 1, text, marks, names });

test("a line is cut where marks and names begin and end", () => {
  assert.deepEqual(piecesOf(side("add(%x, %y)", [[4, 6, true], [8, 10, false]], [[8, 10, 7]])), [
    { text: "add(", mark: "", row: -1 },
    { text: "%x", mark: "renamed", row: -1 },
    { text: ", ", mark: "", row: -1 },
    { text: "%y", mark: "differs", row: 7 },
    { text: ")", mark: "", row: -1 },
  ]);
});

test("positions count characters, not their halves; what cannot be seen is written out", () => {
  const pieces = piecesOf(side("𝑓(x)\u202e", [[2, 3, false]]));
  assert.deepEqual(pieces.map((piece) => piece.text), ["𝑓(", "x", ")\\u202e"]);
});

test("nothing makes no pieces", () => {
  assert.deepEqual(piecesOf(side("")), []);
});
