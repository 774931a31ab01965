import assert from "node:assert/strict";
import test from "node:test";
import { gunzipSync } from "node:zlib";

import { packed } from "../../static/js/packing.js";

const MIB = 2 ** 20;
const quiet = () => {};
const { signal } = new AbortController();

/** A dump of one file of `size` bytes, in a folder or alone. */
function dump(size, { alone = false } = {}) {
  const file = new File(["x".repeat(size)], "a.txt");
  const path = alone ? "a.txt" : "dump/a.txt";
  return { name: alone ? "a.txt" : "dump", size, files: [{ path, file }], packed: alone };
}

test("a single file is sent as it is, however large", async () => {
  const one = dump(5 * MIB, { alone: true });
  const [blob, name] = await packed(one, "far.example", quiet, signal);
  assert.equal(blob, one.files[0].file);
  assert.equal(name, "a.txt");
});

test("a small folder and one for this machine are not compressed", async () => {
  const small = await packed(dump(MIB), "far.example", quiet, signal);
  assert.deepEqual([small[0].size, small[1]], [MIB + 512 + 1024, "dump.tar"]);
  for (const near of ["localhost", "127.0.0.1", "[::1]"]) {
    assert.equal((await packed(dump(5 * MIB), near, quiet, signal))[1], "dump.tar");
  }
});

test("a large folder is compressed on a longer way, and the work is told", async () => {
  const told = [];
  const large = dump(5 * MIB);
  const [blob, name] = await packed(large, "far.example", (...words) => told.push(words), signal);
  assert.equal(name, "dump.tar.gz");
  assert.ok(blob.size < MIB);
  const tar = gunzipSync(Buffer.from(await blob.arrayBuffer()));
  assert.equal(tar.length, 5 * MIB + 512 + 1024);
  assert.deepEqual(told.at(-1), [tar.length, tar.length]);
  assert.ok(told.length > 1);
});

test("the work can be stopped", async () => {
  const stopping = new AbortController();
  const work = packed(dump(20 * MIB), "far.example", () => stopping.abort(), stopping.signal);
  await assert.rejects(work, { name: "AbortError" });
});
