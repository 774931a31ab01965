// @ts-check
/**
 * Makes one file of a dump: an archive as it is, a folder as a tar, which is compressed where the
 * way to the server is longer than the work. Pure: knows no document.
 */

import { tarParts } from "./tar.js";

/**
 * @typedef {import("./chosen_files.js").Dump} Dump
 * @typedef {(done: number, total: number) => void} Told
 */

const LEAST_BYTES = 4 * 2 ** 20;
const NEAR = ["localhost", "127.0.0.1", "[::1]"];

/**
 * The file to send and its name.
 * @param {Dump} dump
 * @param {string} hostname of the server
 * @param {Told} told bytes read of the folder, while it is compressed
 * @param {AbortSignal} signal ends the work with an error
 * @returns {Promise<[Blob, string]>}
 */
export async function packed(dump, hostname, told, signal) {
  if (dump.packed) return [dump.files[0].file, dump.name];
  const tar = new Blob(tarParts(dump.files), { type: "application/x-tar" });
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
  const stream = tar
    .stream()
    .pipeThrough(counting, { signal })
    .pipeThrough(new CompressionStream("gzip"));
  return new Response(stream).blob();
}
