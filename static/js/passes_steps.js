// @ts-check
/** Steps along a list of passes. Pure. */

/**
 * The nearest number of a rising list beyond `at`; null where there is none.
 * @param {number[]} numbers
 * @param {number} at
 * @param {1 | -1} step
 */
export function nextIn(numbers, at, step) {
  const found = step > 0 ? numbers.find((n) => n > at) : numbers.findLast((n) => n < at);
  return found ?? null;
}
