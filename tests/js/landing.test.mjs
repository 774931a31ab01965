import assert from "node:assert/strict";
import { test } from "node:test";

import { MOST, seenFrom, withSeen, withoutSeen } from "../../static/js/landing_list.js";
import { pastedKind } from "../../static/js/landing_paste.js";

const seen = (/** @type {number} */ n) => ({ url: `/r/${n}`, name: `report ${n}`, when: n });

test("a report comes on top and is there once, with the name that is known", () => {
  const list = [seen(1), seen(2)];
  assert.deepEqual(withSeen(list, { url: "/r/2", name: "", when: 9 }), [
    { url: "/r/2", name: "report 2", when: 9 },
    seen(1),
  ]);
  assert.equal(list.length, 2);
});

test("the list stays short", () => {
  let list = /** @type {import("../../static/js/landing_list.js").Seen[]} */ ([]);
  for (let n = 0; n < 20; n += 1) list = withSeen(list, seen(n));
  assert.equal(list.length, MOST);
  assert.equal(list[0].url, "/r/19");
  assert.equal(withoutSeen(list, "/r/19").length, MOST - 1);
});

test("what is stored is not believed", () => {
  assert.deepEqual(seenFrom(null), []);
  assert.deepEqual(seenFrom("{"), []);
  assert.deepEqual(seenFrom('{"url": "/r/1"}'), []);
  const script = { url: "javascript:alert(1)", name: "x", when: 1 };
  const odd = [script, { url: "/r/1" }, { ...seen(4), dump: 4 }, null, seen(3)];
  assert.deepEqual(seenFrom(JSON.stringify(odd)), [seen(3)]);
  const named = { ...seen(5), dump: "dump.tar.gz" };
  assert.deepEqual(seenFrom(JSON.stringify([named])), [named]);
});

test("a pasted text is HLO where it starts as one, else a log", () => {
  assert.equal(pastedKind("HloModule jit_f\n"), "hlo");
  assert.equal(pastedKind("// a comment\n\n  HloModule m"), "hlo");
  assert.equal(pastedKind("F0412 Check failed: HloModule"), "log");
  assert.equal(pastedKind(" \n"), null);
});
