// @ts-check
/**
 * A folder as one tar, made of slices: the browser reads the files only when it sends them.
 * Pure: knows no document. Names that do not fit a ustar header go into an extended one (pax).
 */

/** @typedef {{path: string, file: Blob}} Entry */

const BLOCK = 512;
const MAX_USTAR_SIZE = 0o77777777777;
const encoder = new TextEncoder();

/**
 * The parts of a tar of `entries`, in their order; `new Blob(parts)` is the tar.
 * @param {readonly Entry[]} entries
 * @returns {(Uint8Array<ArrayBuffer> | Blob)[]}
 */
export function tarParts(entries) {
  return [...memberParts(entries), new Uint8Array(2 * BLOCK)];
}

/**
 * The same without an end, to stand in front of another tar.
 * @param {readonly Entry[]} entries
 */
export function memberParts(entries) {
  /** @type {(Uint8Array<ArrayBuffer> | Blob)[]} */
  const parts = [];
  for (const { path, file } of entries) {
    const split = splitName(path);
    if (!split || file.size > MAX_USTAR_SIZE) {
      const records = encoder.encode(
        paxRecord("path", path) + paxRecord("size", String(file.size)),
      );
      parts.push(header("pax", "", records.length, "x"), records, padding(records.length));
    }
    const [prefix, name] = split ?? ["", "long-name"];
    parts.push(header(name, prefix, file.size, "0"), file, padding(file.size));
  }
  return parts;
}

/**
 * How many bytes that tar has.
 * @param {readonly (Uint8Array | Blob)[]} parts
 */
export function sizeOf(parts) {
  return parts.reduce((sum, part) => sum + (part instanceof Blob ? part.size : part.length), 0);
}

/**
 * A path as prefix and name of a ustar header; null where it does not fit.
 * @param {string} path
 * @returns {[string, string] | null}
 */
export function splitName(path) {
  const length = encoder.encode(path).length;
  // Bytes above ASCII have no agreed meaning in ustar.
  if (length !== path.length) return null;
  if (length <= 100) return ["", path];
  const slash = path.indexOf("/", length - 101);
  if (slash < 1 || slash > 155 || slash === length - 1) return null;
  return [path.slice(0, slash), path.slice(slash + 1)];
}

/**
 * @param {string} key
 * @param {string} value
 */
function paxRecord(key, value) {
  // The length counts its own digits.
  const rest = encoder.encode(` ${key}=${value}\n`).length;
  let length = rest + String(rest).length;
  if (rest + String(length).length !== length) length += 1;
  return `${length} ${key}=${value}\n`;
}

/**
 * @param {string} name
 * @param {string} prefix
 * @param {number} size
 * @param {string} type
 */
function header(name, prefix, size, type) {
  const block = new Uint8Array(BLOCK);
  const put = (/** @type {number} */ at, /** @type {string} */ text) =>
    block.set(encoder.encode(text), at);
  put(0, name);
  put(100, "0000644\0");
  put(108, "0000000\0");
  put(116, "0000000\0");
  put(124, `${Math.min(size, MAX_USTAR_SIZE).toString(8).padStart(11, "0")}\0`);
  put(136, "00000000000\0");
  put(148, " ".repeat(8));
  put(156, type);
  put(257, "ustar\x0000");
  put(345, prefix);
  const sum = block.reduce((total, byte) => total + byte, 0);
  put(148, `${sum.toString(8).padStart(6, "0")}\0 `);
  return block;
}

/** @param {number} size */
function padding(size) {
  return new Uint8Array((BLOCK - (size % BLOCK)) % BLOCK);
}
