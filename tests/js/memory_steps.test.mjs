import assert from "node:assert/strict";
import { test } from "node:test";

import { bytesText, nextPoint, pointAt, told } from "../../static/js/memory_steps.js";

const curve = {
  positions: 9,
  step: 2,
  bytes: [1, 4, 9, 9, 2],
  at: [0, 3, 4, 7, 8],
  names: ["a", "", "c", "d", "e"],
  loops: [{ name: "outer", first: 3, last: 7 }, { name: "inner", first: 4, last: 5 }],
};

test("keys go along the curve and stay on it", () => {
  assert.equal(nextPoint("ArrowRight", false, 1, curve), 2);
  assert.equal(nextPoint("ArrowRight", true, 1, curve), 4);
  assert.equal(nextPoint("ArrowLeft", false, 0, curve), 0);
  assert.equal(nextPoint("End", false, 0, curve), 4);
  assert.equal(nextPoint("p", false, 0, curve), 2);
  assert.equal(nextPoint("x", false, 0, curve), null);
});

test("a place of the drawing is a point of the curve", () => {
  assert.equal(pointAt(0, curve), 0);
  assert.equal(pointAt(0.5, curve), 2);
  assert.equal(pointAt(1, curve), 4);
  assert.equal(pointAt(-3, curve), 0);
});

test("a point is told with its instruction and the loops around it", () => {
  assert.equal(told(2, curve), "9 B at position 4, where c runs, in outer, in inner");
  assert.equal(told(1, curve), "4 B at position 3, in outer");
});

test("sizes are those of the page", () => {
  assert.equal(bytesText(1023), "1,023 B");
  assert.equal(bytesText(14 * 2 ** 20), "14.0 MiB");
});
