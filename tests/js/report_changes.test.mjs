import assert from "node:assert/strict";
import { test } from "node:test";

import { blocksOf, markedParts, summaryText } from "../../static/js/report_changes.js";

const side = (name, line, mark = null) => ({ name, line, text: `${name} = f32[] add(a, b)`, mark });

const DIFF = {
  totals: {
    computations_changed: 1,
    computations_unchanged: 1200,
    instructions_added: 1,
    instructions_changed: 2,
    instructions_moved: 0,
  },
  computations: [
    {
      kind: "changed",
      before: "body.1",
      after: "body.2",
      how: "same callers",
      added: 1,
      changed: 2,
      unchanged: 7,
      renames: [["add.1", "add.9"]],
      rows: [
        { kind: "added", opcode: "add", after: side("add.3", 12), times: 3 },
        {
          kind: "changed",
          opcode: "add",
          before: side("add.4", 20, [13, 17]),
          after: side("add.5", 21, [13, 17]),
          what: ["operands"],
        },
        { kind: "moved", opcode: "add", after: side("add.6", 30) },
      ],
      rows_left_out: 5,
      same_in: ["body.3"],
      same_in_count: 1,
    },
    { kind: "added", before: null, after: "new", how: "", added: 4, rows: [] },
  ],
};

test("the summary counts what differs and what is not shown", () => {
  assert.equal(
    summaryText(DIFF),
    "Instructions: 1 added, 2 changed. Computations: 1 changed. 1,200 equal computations are not shown.",
  );
  assert.equal(summaryText({ totals: {}, computations: [] }), "The two texts say the same.");
});

test("a changed pair is two lines, the one before first, the note once", () => {
  const [block] = blocksOf(DIFF);
  assert.equal(block.title, "body.1 → body.2");
  assert.equal(block.summary, "1 added, 2 changed, 7 unchanged");
  assert.deepEqual(
    block.lines.map((line) => [line.sign, line.word, line.number, line.note]),
    [
      ["+", "added", 12, "3 times"],
      ["-", "before", 20, "operands"],
      ["+", "after", 21, ""],
      ["~", "moved", 30, ""],
    ],
  );
});

test("what is left out is said", () => {
  const [block, added] = blocksOf(DIFF);
  assert.deepEqual(block.notes, [
    "The same in 1 more: body.3",
    "5 more edits are not shown.",
    "Paired by same callers.",
  ]);
  assert.deepEqual(block.renames, ["add.1 → add.9"]);
  assert.equal(added.summary, "new computation: 4 added");
});

test("marks count characters, not UTF-16 units", () => {
  assert.deepEqual(markedParts("a😀bcd", [1, 3]), ["a", "😀b", "cd"]);
  assert.deepEqual(markedParts("abc", null), ["abc", "", ""]);
});

test("copies and moves between computations say where from and where to", () => {
  const side = { name: "x", line: 3, text: "%x = f32[] negate(%y)" };
  const [block] = blocksOf({
    totals: {},
    computations: [
      {
        kind: "changed",
        before: "c",
        after: "c",
        how: "same name",
        added: 2,
        copied: 2,
        moved_out: 1,
        rows: [
          { kind: "copied", opcode: "negate", after: side, where: "copy of %w", times: 2 },
          { kind: "moved", opcode: "negate", before: side, where: "into %f as %x.1" },
        ],
      },
    ],
  });
  assert.equal(block.summary, "2 added, 2 copied (among the added), 1 moved out");
  assert.deepEqual(
    block.lines.map(({ sign, word, note }) => [sign, word, note]),
    [
      ["+", "copied", "2 times, copy of %w"],
      ["~", "moved", "into %f as %x.1"],
    ],
  );
});
