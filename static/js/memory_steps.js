// @ts-check
/** Going along a curve of memory, and what it says at a point. Pure: knows no document. */

/**
 * @typedef {{positions: number, step: number, bytes: number[], at: number[], names: string[],
 *   loops: {name: string, first: number, last: number}[]}} Curve
 */

const LARGE_STEP = 20;
const UNITS = ["B", "KiB", "MiB", "GiB", "TiB"];

/**
 * The point that a key leads to; null for keys that lead nowhere.
 * @param {string} key
 * @param {boolean} isLarge with Shift
 * @param {number} here
 * @param {Curve} curve
 */
export function nextPoint(key, isLarge, here, { bytes }) {
  const last = bytes.length - 1;
  const step = isLarge ? LARGE_STEP : 1;
  switch (key) {
    case "ArrowLeft":
      return Math.max(0, here - step);
    case "ArrowRight":
      return Math.min(last, here + step);
    case "Home":
      return 0;
    case "End":
      return last;
    case "p":
      return bytes.indexOf(Math.max(...bytes));
    default:
      return null;
  }
}

/**
 * The point that is drawn `part` of the way (0 to 1) along the schedule.
 * @param {number} part
 * @param {Curve} curve
 */
export function pointAt(part, { positions, step, bytes }) {
  const point = Math.floor((part * positions) / step);
  return Math.min(bytes.length - 1, Math.max(0, point));
}

/**
 * What the curve says at a point, in words.
 * @param {number} point
 * @param {Curve} curve
 */
export function told(point, curve) {
  const position = curve.at[point];
  const name = curve.names[point];
  const inside = curve.loops
    .filter(({ first, last }) => first <= position && position <= last)
    .map((loop) => loop.name);
  const parts = [
    `${bytesText(curve.bytes[point])} at position ${position.toLocaleString("en")}`,
    name ? `where ${name} runs` : "",
    inside.length ? `in ${inside.join(", in ")}` : "",
  ];
  return parts.filter(Boolean).join(", ");
}

/**
 * `14.0 MiB`, as the page writes sizes.
 * @param {number} size
 */
export function bytesText(size) {
  let value = size;
  let unit = 0;
  while (value >= 1024 && unit < UNITS.length - 1) {
    value /= 1024;
    unit += 1;
  }
  const digits = unit ? 1 : 0;
  const number = value.toLocaleString("en", {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  });
  return `${number} ${UNITS[unit]}`;
}
