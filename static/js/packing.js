// @ts-check
/**
 * Makes one file of a dump and the files of the program beside it: an archive as it is, a folder as
 * a tar, which is compressed where the way to the server is longer than the work. Files beside an
 * archive go in front of it, compressed in the same way: tar, gzip and zstd may all be strung
 * together. Pure: knows no document.
 */

import { isArchive } from "./chosen_files.js";
import { memberParts, tarParts } from "./tar.js";
import { zstdFrame } from "./zstd.js";

/**
 * @typedef {import("./chosen_files.js").Dump} Dump
 * @typedef {(done: number, total: number) => void} Told
 */

const LEAST_BYTES = 4 * 2 ** 20;
/** @type {[RegExp, (members: Blob) => Promise<BlobPart>][]} */
const IN_FRONT = [
  [/\.tar$/i, async (members) => members],
  [/\.(tar\.gz|tgz)$/i, (members) => gzipped(members.stream())],
  [/\.(tar\.zst|tzst)$/i, async (members) => zstdFrame(new Uint8Array(await members.arrayBuffer()))],
];
const NEAR = ["localhost", "127.0.0.1", "[::1]"];

/**
 * Whether files of the program can go along with that dump.
 * @param {Dump} dump
 */
export function takesSources({ packed: isPacked, name }) {
  return !isPacked || !isArchive(name) || IN_FRONT.some(([ending]) => ending.test(name));
}

/**
 * The file to send and its name.
 * @param {Dump} dump
 * @param {File[]} sources
 * @param {string} hostname of the server
 * @param {Told} told bytes read of the folder, while it is compressed
 * @param {AbortSignal} signal ends the work with an error
 * @returns {Promise<[Blob, string]>}
 */
export async function packed(dump, sources, hostname, told, signal) {
  const beside = sources.map((file) => ({ path: file.name, file }));
  if (dump.packed && (!sources.length || isArchive(dump.name))) {
    const inFront = IN_FRONT.find(([ending]) => ending.test(dump.name))?.[1];
    const parts = sources.length && inFront ? [await inFront(new Blob(memberParts(beside)))] : [];
    return [parts.length ? new Blob([...parts, dump.files[0].file]) : dump.files[0].file, dump.name];
  }
  const tar = new Blob(tarParts([...dump.files, ...beside]), { type: "application/x-tar" });
  if (tar.size < LEAST_BYTES || NEAR.includes(hostname)) return [tar, `${dump.name}.tar`];
  return [await compressed(tar, told, signal), `${dump.name}.tar.gz`];
}

/**
 * @param {Blob} tar
 * @param {Told} told
 * @param {AbortSignal} signal
 */
function compressed(tar, told, signal) {
  let read = 0;
  const counting = new TransformStream({
    transform(/** @type {Uint8Array} */ piece, controller) {
      read += piece.byteLength;
      told(read, tar.size);
      controller.enqueue(piece);
    },
  });
  return gzipped(tar.stream().pipeThrough(counting, { signal }));
}

/** @param {ReadableStream<Uint8Array<ArrayBuffer>>} stream */
function gzipped(stream) {
  return new Response(stream.pipeThrough(new CompressionStream("gzip"))).blob();
}
