import assert from "node:assert/strict";
import { test } from "node:test";

import { visible } from "../../static/js/report_visible.js";

test("what cannot be seen is written out, all else stays", () => {
  assert.equal(visible("add.1 = größe 😀"), "add.1 = größe 😀");
  assert.equal(visible("\u001b[31m"), "\\x1b[31m");
  assert.equal(visible("a\u202eb\u2028"), "a\\u202eb\\u2028");
  assert.equal(visible("\u{e0041}"), "\\U000e0041");
  assert.equal(visible("<script>"), "<script>");
});
