import assert from "node:assert/strict";
import { test } from "node:test";

import { Layout, runsText } from "../../static/js/diff_rows.js";

// Rows 0..11; rows 2 to 6 and 9 to 10 are folded.
const ROWS = {
  total: 12,
  before: "Hsssss dcssc",
  after: "Hsssssaa ssc",
  folds: [[2, 4, "4 unchanged"], [9, 2, "2 unchanged"]],
};

test("closed folds are one item, open ones their rows", () => {
  const layout = new Layout(ROWS, []);
  assert.deepEqual(layout.items, [0, 1, -1, 6, 7, 8, -2, 11]);
  assert.equal(layout.lines, 8);
  layout.opened.add(0);
  layout.place();
  assert.deepEqual(layout.items, [0, 1, 2, 3, 4, 5, 6, 7, 8, -2, 11]);
});

test("folds that are not there are not opened", () => {
  assert.deepEqual([...new Layout(ROWS, [1, 7]).opened], [1]);
});

test("in one column two different sides take two lines", () => {
  const layout = new Layout(ROWS, []);
  layout.columns = 1;
  layout.place();
  assert.deepEqual(layout.tops, [0, 1, 2, 3, 4, 6, 7, 8, 10]);
  assert.equal(layout.positionAt(5), 4);
});

test("a row is found, and what hides it opens", () => {
  const layout = new Layout(ROWS, []);
  assert.equal(layout.positionOf(4), 2);
  assert.equal(layout.foldOf(4), 0);
  assert.equal(layout.foldOf(7), -1);
  assert.equal(layout.reveal(4), true);
  assert.equal(layout.items[layout.positionOf(4)], 4);
  assert.equal(layout.reveal(4), false);
});

test("the next change is the start of a run, down and up", () => {
  const layout = new Layout(ROWS, []);
  assert.equal(layout.nextChange(-1, 1), 6);
  assert.equal(layout.nextChange(6, 1), 11);
  assert.equal(layout.nextChange(11, 1), null);
  assert.equal(layout.nextChange(11, -1), 6);
  assert.equal(layout.nextChange(8, -1), 6);
  assert.equal(layout.nextChange(6, -1), null);
});

test("fifty thousand rows are placed at once", () => {
  const total = 50_000;
  const folds = Array.from({ length: 5000 }, (_, n) => [n * 10 + 3, 5, "5 unchanged"]);
  const start = performance.now();
  const layout = new Layout({ total, before: "s".repeat(total), after: "s".repeat(total), folds }, []);
  assert.equal(layout.items.length, total - 4 * 5000);
  assert.ok(performance.now() - start < 500);
});

test("an empty text has no rows", () => {
  const layout = new Layout({ total: 0, before: "", after: "", folds: [] }, []);
  assert.equal(layout.lines, 0);
  assert.equal(layout.nextChange(-1, 1), null);
  assert.equal(layout.reveal(0), false);
});

test("rows are asked for in runs", () => {
  assert.equal(runsText([3, 4, 5, 9, 11, 12]), "3-5,9,11-12");
  assert.equal(runsText([]), "");
});
