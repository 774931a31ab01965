// @ts-check
/** The reports that this browser has seen lately, as a list of values. Pure: knows no storage. */

/**
 * `dump` is the name of what was sent, which lists of before do not hold; `when` in milliseconds.
 * @typedef {{url: string, name: string, dump?: string, when: number}} Seen
 */

export const MOST = 8;

/**
 * The list with a report on top; one that was there is there once, and keeps its name for "".
 * @param {readonly Seen[]} list
 * @param {Seen} entry
 * @returns {Seen[]}
 */
export function withSeen(list, entry) {
  const before = list.find(({ url }) => url === entry.url);
  const name = entry.name || before?.name || "";
  return [{ ...entry, name }, ...list.filter(({ url }) => url !== entry.url)].slice(0, MOST);
}

/**
 * @param {readonly Seen[]} list
 * @param {string} gone
 * @returns {Seen[]}
 */
export function withoutSeen(list, gone) {
  return list.filter(({ url }) => url !== gone);
}

/**
 * What a stored text holds; nothing where it is not ours, or from another version.
 * @param {string | null} text
 * @returns {Seen[]}
 */
export function seenFrom(text) {
  try {
    const list = JSON.parse(text ?? "[]");
    return Array.isArray(list) ? list.filter(isSeen).slice(0, MOST) : [];
  } catch {
    return [];
  }
}

/**
 * @param {any} value
 * @returns {value is Seen}
 */
function isSeen(value) {
  return (
    typeof value === "object" &&
    value !== null &&
    /^(?:\/[\w.-]+)*\/r\/[\w-]+$/.test(value.url) &&
    typeof value.name === "string" &&
    ["string", "undefined"].includes(typeof value.dump) &&
    typeof value.when === "number"
  );
}
