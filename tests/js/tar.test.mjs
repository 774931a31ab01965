import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import test from "node:test";

import { sizeOf, splitName, tarParts } from "../../static/js/tar.js";

/** @param {{path: string, file: Blob}[]} entries */
async function tarOf(entries) {
  return Buffer.from(await new Blob(tarParts(entries)).arrayBuffer());
}

/** What the system's own tar reads: names in order, or the contents of one. */
function tar(archive, ...options) {
  const run = spawnSync("tar", ["--quoting-style=literal", ...options, "-f", "-"], {
    input: archive,
  });
  assert.equal(run.status, 0, run.stderr.toString());
  return run.stdout.toString();
}

test("an archive of files is what tar reads", async () => {
  const contents = ["HloModule a\n", "", "x".repeat(512), "y".repeat(513), "ü\n"];
  const entries = contents.map((text, number) => ({
    path: `dump/deep/module_000${number}.txt`,
    file: new Blob([text]),
  }));
  const archive = await tarOf(entries);
  assert.equal(archive.length % 512, 0);
  assert.equal(tar(archive, "-t"), entries.map(({ path }) => `${path}\n`).join(""));
  for (const [number, { path }] of entries.entries()) {
    assert.equal(tar(archive, "-xO", path), contents[number]);
  }
});

test("names of every length and alphabet come through", async () => {
  const names = [
    "a".repeat(100),
    `${"d".repeat(60)}/${"f".repeat(90)}`,
    `${"d".repeat(155)}/${"f".repeat(100)}`,
    "n".repeat(101),
    `${"d".repeat(156)}/f`,
    `top/${"n".repeat(250)}.txt`,
    "dump/ünïcødé/日本語.txt",
    "dump/with space and 'quotes'.txt",
  ];
  for (const length of [975, 976, 977, 978, 979, 980, 981, 982, 983, 984, 985, 986, 987, 988]) {
    names.push("p".repeat(length));
  }
  const archive = await tarOf(names.map((path) => ({ path, file: new Blob([path.slice(0, 9)]) })));
  assert.equal(tar(archive, "-t"), names.map((name) => `${name}\n`).join(""));
});

test("a name is split at a slash that leaves both parts short enough", () => {
  assert.deepEqual(splitName("short.txt"), ["", "short.txt"]);
  const [prefix, name] = splitName(`${"d".repeat(60)}/${"e".repeat(50)}/${"f".repeat(60)}`);
  assert.equal(`${prefix}/${name}`.length, 172);
  assert.ok(prefix.length <= 155 && name.length <= 100);
  assert.equal(splitName("f".repeat(101)), null);
  assert.equal(splitName(`${"d".repeat(156)}/f`), null);
  assert.equal(splitName(`${"d".repeat(120)}/`), null);
  assert.equal(splitName("é"), null);
});

test("files are not read before the tar is", () => {
  const file = new Blob(["x".repeat(1000)]);
  file.arrayBuffer = file.stream = file.text = () => assert.fail("the file was read");
  const parts = tarParts([{ path: "a", file }]);
  assert.ok(parts.includes(file));
  assert.equal(sizeOf(parts), 512 + 1024 + 1024);
});

test("an empty folder is an empty archive", async () => {
  assert.equal(tar(await tarOf([]), "-t"), "");
});
