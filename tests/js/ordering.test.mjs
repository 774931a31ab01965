import assert from "node:assert/strict";
import { test } from "node:test";

import { nextDirection, ordered } from "../../static/js/ordering.js";

test("numbers by size, names by the numbers in them, empty ones last", () => {
  assert.deepEqual(ordered([10, 9, 100], "descending"), [2, 0, 1]);
  assert.deepEqual(ordered(["add.10", "add.9", "", "Add.1"], "ascending"), [3, 1, 0, 2]);
  assert.deepEqual(ordered(["b", "", "a"], "descending"), [0, 2, 1]);
});

test("equal ones stay as they were, in both directions", () => {
  assert.deepEqual(ordered([1, 1, 1], "ascending"), [0, 1, 2]);
  assert.deepEqual(ordered([1, 1, 1], "descending"), [0, 1, 2]);
});

test("a click turns the order round", () => {
  assert.equal(nextDirection(null, true), "descending");
  assert.equal(nextDirection(null, false), "ascending");
  assert.equal(nextDirection("ascending", true), "descending");
  assert.equal(nextDirection("descending", false), "ascending");
});
