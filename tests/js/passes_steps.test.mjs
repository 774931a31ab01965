import assert from "node:assert/strict";
import { test } from "node:test";

import { nextIn } from "../../static/js/passes_steps.js";

test("the nearest beyond, or none", () => {
  const changed = [2, 5, 9];
  assert.equal(nextIn(changed, 2, 1), 5);
  assert.equal(nextIn(changed, 3, -1), 2);
  assert.equal(nextIn(changed, 9, 1), null);
  assert.equal(nextIn(changed, 2, -1), null);
  assert.equal(nextIn([], 0, 1), null);
});
