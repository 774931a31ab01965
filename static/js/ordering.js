// @ts-check
/** The order of a table's rows by one of its columns. Pure: knows no document. */

/** @typedef {"ascending" | "descending"} Direction */

const COLLATOR = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

/**
 * The positions of `values` in the wanted order; equal ones stay as they were, empty texts go last.
 * @param {readonly (number | string)[]} values
 * @param {Direction} direction
 * @returns {number[]}
 */
export function ordered(values, direction) {
  const sign = direction === "ascending" ? 1 : -1;
  return values
    .map((value, position) => ({ value, position }))
    .sort((a, b) => {
      const empty = Number(a.value === "") - Number(b.value === "");
      return empty || sign * compared(a.value, b.value) || a.position - b.position;
    })
    .map(({ position }) => position);
}

/**
 * What a click on a heading asks for: the other direction, at first large numbers and early letters.
 * @param {string | null} now the column's direction, if the table is in its order
 * @param {boolean} isNumber
 * @returns {Direction}
 */
export function nextDirection(now, isNumber) {
  if (now === "ascending") return "descending";
  if (now === "descending") return "ascending";
  return isNumber ? "descending" : "ascending";
}

/**
 * @param {number | string} a
 * @param {number | string} b
 */
function compared(a, b) {
  if (typeof a === "number" && typeof b === "number") return a - b;
  return COLLATOR.compare(String(a), String(b));
}
