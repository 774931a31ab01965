import assert from "node:assert/strict";
import { test } from "node:test";

import { nextLine } from "../../static/js/source_steps.js";

test("keys go from line to line and stop at both ends", () => {
  assert.equal(nextLine("n", -1, 3), 0);
  assert.equal(nextLine("n", 2, 3), 2);
  assert.equal(nextLine("j", 0, 3), nextLine("n", 0, 3));
  assert.equal(nextLine("k", 2, 3), nextLine("p", 2, 3));
  assert.equal(nextLine("p", 2, 3), 1);
  assert.equal(nextLine("p", -1, 3), 0);
  assert.equal(nextLine("x", 0, 3), null);
  assert.equal(nextLine("n", -1, 0), null);
});
