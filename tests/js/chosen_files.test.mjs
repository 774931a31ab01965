import assert from "node:assert/strict";
import test from "node:test";

import { filesOf, filesUnder, sortFound } from "../../static/js/chosen_files.js";

const file = (/** @type {string} */ name, size = 10) => new File(["x".repeat(size)], name);
const found = (/** @type {string[]} */ ...paths) =>
  paths.map((path) => ({ path, file: file(path.split("/").at(-1) ?? "") }));

/** A folder as browsers hand it out: a batch at a time, then an empty list. */
function folder(path, children) {
  return {
    isDirectory: true,
    fullPath: path,
    createReader() {
      const waiting = [...children];
      return { readEntries: (resolve) => resolve(waiting.splice(0, 100)) };
    },
  };
}

const leaf = (/** @type {string} */ path) => ({
  isDirectory: false,
  fullPath: path,
  file: (resolve) => resolve(file(path.split("/").at(-1) ?? "")),
});

test("one archive is sent as it is", () => {
  const { dump, logs } = sortFound(found("dump.tar.gz"));
  assert.equal(dump?.name, "dump.tar.gz");
  assert.equal(dump?.packed, true);
  assert.equal(dump?.size, 10);
  assert.deepEqual(logs, []);
});

test("one text is sent as it is, whatever it is called", () => {
  assert.equal(sortFound(found("module_0000.jit_f.before_optimizations.txt")).dump?.packed, true);
});

test("a folder is packed under its name, even with one file", () => {
  const { dump } = sortFound(found("mydump/module_0000.txt"));
  assert.equal(dump?.name, "mydump");
  assert.equal(dump?.packed, false);
});

test("loose files and several folders are packed together", () => {
  assert.equal(sortFound(found("a.txt", "b.txt")).dump?.name, "dump");
  const { dump } = sortFound(found("one/a.txt", "two/b.txt"));
  assert.equal(dump?.name, "dump");
  assert.equal(dump?.size, 20);
});

test("a log beside the dump is the run's log, one inside it is not", () => {
  for (const name of ["run.log", "slurm-17.out", "job.err", "stderr.txt", "train_stderr"]) {
    const { dump, logs } = sortFound(found("dump.tar.gz", name));
    assert.equal(dump?.name, "dump.tar.gz", name);
    assert.deepEqual(logs.map((log) => log.name), [name]);
  }
  for (const name of ["output.txt", "run.log.1", "run.log.12"]) {
    const { dump, logs } = sortFound(found("dump.tar.gz", name));
    assert.equal(dump?.name, "dump.tar.gz", name);
    assert.deepEqual(logs.map((log) => log.name), [name]);
    assert.equal(sortFound(found("a.hlo", name)).dump?.files.length, 2, name);
  }
  assert.deepEqual(sortFound(found("module_0000.txt.gz", "module_0001.txt")).logs, []);
  const { dump, logs } = sortFound(found("dump/a.txt", "dump/run.log"));
  assert.equal(dump?.files.length, 2);
  assert.deepEqual(logs, []);
});

test("a log alone leaves the dump open", () => {
  assert.equal(sortFound(found("run.log")).dump, null);
  assert.deepEqual(sortFound([]), { dump: null, logs: [], sources: [], why: "" });
});

test("what the desktop leaves behind is no part of a dump", () => {
  const { dump } = sortFound(found("dump/.DS_Store", "dump/a.txt", "dump/Thumbs.db"));
  assert.deepEqual(dump?.files.map(({ path }) => path), ["dump/a.txt"]);
});

test("a chosen folder keeps its paths", () => {
  const chosen = file("a.txt");
  Object.defineProperty(chosen, "webkitRelativePath", { value: "dump/deep/a.txt" });
  assert.deepEqual(filesOf([chosen, file("b.txt")]).map(({ path }) => path), [
    "dump/deep/a.txt",
    "b.txt",
  ]);
});

test("folders are walked to their end, and the order is that of the paths", async () => {
  const many = Array.from({ length: 250 }, (_, number) =>
    leaf(`/dump/module_${String(249 - number).padStart(4, "0")}.txt`),
  );
  const entries = [folder("/dump", [folder("/dump/deep", [leaf("/dump/deep/z.txt")]), ...many])];
  const files = await filesUnder(/** @type {any} */ (entries));
  const paths = files.map(({ path }) => path);
  assert.equal(paths.length, 251);
  assert.equal(paths[0], "dump/deep/z.txt");
  assert.deepEqual(paths, [...paths].sort());
});

test("too many files are refused", async () => {
  const entries = [folder("/d", [leaf("/d/a"), leaf("/d/b"), leaf("/d/c")])];
  await assert.rejects(filesUnder(/** @type {any} */ (entries), 2), /more than 2 files/);
});

test("a file of the program beside the dump is told apart, one inside it is not", () => {
  const { dump, sources } = sortFound(found("dump.tar.gz", "train.py", "run.log"));
  assert.equal(dump?.packed, true);
  assert.deepEqual(sources.map((source) => source.name), ["train.py"]);
  assert.deepEqual(sortFound(found("dump/a.txt", "dump/train.py")).sources, []);
  assert.equal(sortFound(found("train.py")).dump, null);
});

test("two archives are two dumps, and neither is taken", () => {
  const { dump, logs, why } = sortFound(found("a.tar.gz", "b.zip", "run.log"));
  assert.equal(dump, null);
  assert.deepEqual(logs.map((log) => log.name), ["run.log"]);
  assert.match(why, /^a\.tar\.gz, b\.zip: a report is of one dump/);
});

test("what is no log and no program beside an archive is left out, and said", () => {
  const { dump, why } = sortFound(found("dump.tar.gz", "README.md", "mine/a.txt"));
  assert.equal(dump?.name, "dump.tar.gz");
  assert.equal(dump?.packed, true);
  assert.equal(why, "Left out, as dump.tar.gz is the dump: README.md, mine/a.txt.");
  const many = sortFound(found("d.zip", "1.md", "2.md", "3.md", "4.md", "5.md", "6.md"));
  assert.match(many.why, /4\.md and 2 more\.$/);
});

test("nothing is said where nothing is left out, as of archives within a folder", () => {
  for (const paths of [["dump.tar.gz", "run.log", "train.py"], ["a.txt", "b.txt"], ["d/a.zip", "d/b.zip"]]) {
    assert.equal(sortFound(found(...paths)).why, "", paths.join());
  }
});

test("what XLA wrote packed is a file of the dump like its texts", () => {
  const stem = "module_0001.jit_f";
  for (const paths of [
    [`${stem}.0001.a.txt`, `${stem}.hlo.pb.gz`],
    [`${stem}.hlo.pb.gz`, `${stem}.0002.hlo.pb.gz`, "other.pb.gz"],
  ]) {
    const { dump, why } = sortFound(found(...paths));
    assert.equal(dump?.files.length, paths.length);
    assert.equal(why, "");
  }
});
