import assert from "node:assert/strict";
import { test } from "node:test";

import { rowsAddress } from "../../static/js/warming_address.js";

test("the first row of both texts is asked for, whatever else the address says", () => {
  assert.equal(
    rowsAddress("http://host/r/id/diff?module=m%2F1&a=3&b=4&at=7#row-7"),
    "/r/id/diff/rows?module=m%2F1&a=3&b=4&rows=0",
  );
});

test("an address that names no two texts leads to none", () => {
  assert.equal(rowsAddress("http://host/r/id/diff?module=m&a=3"), null);
  assert.equal(rowsAddress("http://host/r/id/passes?module=m&a=3&b=4"), null);
});
