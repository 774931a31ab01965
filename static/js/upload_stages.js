// @ts-check
/** Which stages of an analysis are over. Pure: knows no document. */

/**
 * @param {number} position
 * @param {readonly string[]} keys of all stages, in order
 * @param {string | null} stage the one that runs; null while nothing does
 * @returns {"done" | "now" | "later"}
 */
export function stateOf(position, keys, stage) {
  if (stage === null) return "later";
  // One that has no name here yet, or another one, is the beginning.
  const now = Math.max(0, keys.indexOf(stage));
  if (position === now) return "now";
  return position < now ? "done" : "later";
}

/**
 * What stands beside a stage that is over: all that it counted, though its last count came earlier.
 * @param {string} count such as `34 of 109`
 */
export function countWhenOver(count) {
  return count.split(" of ").at(-1) ?? "";
}
