import assert from "node:assert/strict";
import test from "node:test";
import { gunzipSync, gzipSync, zstdDecompressSync } from "node:zlib";

import { packed, takesSources } from "../../static/js/packing.js";

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
  const [blob, name] = await packed(one, [], "far.example", quiet, signal);
  assert.equal(blob, one.files[0].file);
  assert.equal(name, "a.txt");
});

test("a small folder and one for this machine are not compressed", async () => {
  const small = await packed(dump(MIB), [], "far.example", quiet, signal);
  assert.deepEqual([small[0].size, small[1]], [MIB + 512 + 1024, "dump.tar"]);
  for (const near of ["localhost", "127.0.0.1", "[::1]"]) {
    assert.equal((await packed(dump(5 * MIB), [], near, quiet, signal))[1], "dump.tar");
  }
});

test("a large folder is compressed on a longer way, and the work is told", async () => {
  const told = [];
  const large = dump(5 * MIB);
  const [blob, name] = await packed(large, [], "far.example", (...words) => told.push(words), signal);
  assert.equal(name, "dump.tar.gz");
  assert.ok(blob.size < MIB);
  const tar = gunzipSync(Buffer.from(await blob.arrayBuffer()));
  assert.equal(tar.length, 5 * MIB + 512 + 1024);
  assert.deepEqual(told.at(-1), [tar.length, tar.length]);
  assert.ok(told.length > 1);
});

test("the work can be stopped", async () => {
  const stopping = new AbortController();
  const work = packed(dump(20 * MIB), [], "far.example", () => stopping.abort(), stopping.signal);
  await assert.rejects(work, { name: "AbortError" });
});

const PROGRAM = new File(["print(1)\n"], "train.py");

/** An archive as it is dropped. */
function archive(name, bytes) {
  const file = new File([bytes], name);
  return { name, size: bytes.length, files: [{ path: name, file }], packed: true };
}

const bytesOf = async (blob) => Buffer.from(await blob.arrayBuffer());

test("files of the program go in front of an archive, so that both are one", async () => {
  const rest = Buffer.alloc(2048, "r");
  const [tar, name] = await packed(archive("d.tar", rest), [PROGRAM], "localhost", quiet, signal);
  assert.equal(name, "d.tar");
  const whole = await bytesOf(tar);
  assert.equal(whole.subarray(0, 8).toString(), "train.py");
  assert.equal(whole.subarray(512, 521).toString(), "print(1)\n");
  assert.deepEqual(whole.subarray(1024), rest);
  const small = archive("d.tar.gz", gzipSync(rest));
  const [gzipped] = await packed(small, [PROGRAM], "localhost", quiet, signal);
  assert.deepEqual(gunzipSync(await bytesOf(gzipped)), whole);
});

test("in front of a zstd archive they are a frame of their own", async () => {
  const long = new File(["x".repeat(300_000)], "long.py");
  const none = archive("d.tar.zst", Buffer.alloc(0));
  const [blob] = await packed(none, [PROGRAM, long], "localhost", quiet, signal);
  const members = zstdDecompressSync(await bytesOf(blob));
  assert.equal(members.length, 3 * 512 + 300_032);
  assert.equal(members.subarray(1024, 1031).toString(), "long.py");
});

test("they lie beside the files of a folder, and beside a single text", async () => {
  for (const alone of [false, true]) {
    const [blob, name] = await packed(dump(9, { alone }), [PROGRAM], "localhost", quiet, signal);
    assert.equal(name, alone ? "a.txt.tar" : "dump.tar");
    assert.ok((await bytesOf(blob)).includes("print(1)"));
  }
});

test("an archive of another kind takes none along", () => {
  const names = ["d.zip", "a.txt.gz", "d.tar", "d.TGZ", "d.tzst", "a.txt"];
  const taken = names.filter((name) => takesSources(archive(name, Buffer.alloc(1))));
  assert.deepEqual(taken, ["d.tar", "d.TGZ", "d.tzst", "a.txt"]);
});
