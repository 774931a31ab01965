// @ts-check
/**
 * Bytes as a zstd frame that compresses nothing (RFC 8878, section 3.1.1): browsers write no zstd.
 * Pure: knows no document.
 */

const MAGIC = [0x28, 0xb5, 0x2f, 0xfd];
// No sizes and no checksum; a window of 128 KiB, the most that one block may hold.
const HEADER = [0x00, 0x38];
const BLOCK = 1 << 17;

/**
 * @param {Uint8Array<ArrayBuffer>} bytes
 * @returns {Blob}
 */
export function zstdFrame(bytes) {
  const parts = [new Uint8Array([...MAGIC, ...HEADER])];
  let at = 0;
  do {
    const block = bytes.subarray(at, at + BLOCK);
    at += BLOCK;
    const isLast = at >= bytes.length;
    const header = block.length * 8 + (isLast ? 1 : 0);
    parts.push(new Uint8Array([header & 0xff, (header >> 8) & 0xff, header >> 16]), block);
  } while (at < bytes.length);
  return new Blob(parts);
}
