// @ts-check
/** Going from one line that became something to the next. Pure: knows no document. */

/**
 * The position of the line that a key leads to; null for keys that lead nowhere.
 * @param {string} key
 * @param {number} here -1 before any line
 * @param {number} count
 */
export function nextLine(key, here, count) {
  if (!count) return null;
  if (key === "n" || key === "j") return Math.min(count - 1, here + 1);
  if (key === "p" || key === "k") return Math.max(0, here - 1);
  return null;
}
