import assert from "node:assert/strict";
import { test } from "node:test";

import { countWhenOver, stateOf } from "../../static/js/upload_stages.js";

const keys = ["starting", "read", "loops"];
const states = (/** @type {string | null} */ stage) => keys.map((_, at) => stateOf(at, keys, stage));

test("stages before the one that runs are over", () => {
  assert.deepEqual(states("read"), ["done", "now", "later"]);
  assert.deepEqual(states("starting"), ["now", "later", "later"]);
});

test("while nothing runs none has begun, and an unknown one is the beginning", () => {
  assert.deepEqual(states(null), ["later", "later", "later"]);
  assert.deepEqual(states("brewing"), ["now", "later", "later"]);
});

test("a stage that is over has counted all", () => {
  assert.equal(countWhenOver("0 of 1"), "1");
  assert.equal(countWhenOver("1,034 of 1,109"), "1,109");
  assert.equal(countWhenOver("34"), "34");
  assert.equal(countWhenOver(""), "");
});
