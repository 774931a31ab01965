// @ts-check
/** Steps in a drawn graph. Pure: knows no document. */

/**
 * @typedef {{x: number, y: number}} Point
 * @typedef {{from: number, to: number}} Edge
 */

const LARGEST_FIT = 1.25;
const SMALLEST_READ = 0.55;
const FIRST_SCALE = 0.8;

/**
 * The box that an arrow key leads to: up to an operand, down to a user, sideways to the next box of
 * the same layer. The nearest counts; null where there is none, or for any other key.
 * @param {string} key
 * @param {number} here
 * @param {Point[]} places middles of the boxes
 * @param {Edge[]} edges by positions of boxes
 * @returns {number | null}
 */
export function nextBox(key, here, places, edges) {
  const { x, y } = places[here];
  /** @type {number[]} */
  let candidates = [];
  const all = [...places.keys()];
  if (key === "ArrowUp") candidates = edges.filter(({ to }) => to === here).map(({ from }) => from);
  if (key === "ArrowDown") candidates = edges.filter(({ from }) => from === here).map(({ to }) => to);
  if (key === "ArrowLeft") candidates = all.filter((i) => places[i].y === y && places[i].x < x);
  if (key === "ArrowRight") candidates = all.filter((i) => places[i].y === y && places[i].x > x);
  if (!candidates.length) return null;
  const distance = /** @type {(i: number) => number} */ (
    (i) => Math.hypot(places[i].x - x, places[i].y - y)
  );
  return candidates.reduce((best, i) => (distance(i) < distance(best) ? i : best));
}

/**
 * The scale at which the whole drawing is seen, no larger than is good to read.
 * @param {number} width
 * @param {number} height
 * @param {number} roomWidth
 * @param {number} roomHeight
 */
export function scaleToFit(width, height, roomWidth, roomHeight) {
  if (!width || !height) return 1;
  return Math.min(LARGEST_FIT, roomWidth / width, roomHeight / height);
}

const TELLING = ["kind-collective", "kind-loop", "kind-heavy", "kind-fusion"];

/**
 * The box to begin at: the chosen one, else the first that tells most of what is computed.
 * @param {number} chosen -1 for none
 * @param {string[]} kinds the classes of the boxes
 */
export function firstShown(chosen, kinds) {
  if (chosen >= 0) return chosen;
  for (const kind of TELLING) {
    const found = kinds.findIndex((classes) => classes.split(" ").includes(kind));
    if (found >= 0) return found;
  }
  return 0;
}

/**
 * The scale to begin with: all of the drawing, unless its names would then be too small to read.
 * @param {number} fitting the scale at which all of it is seen
 */
export function firstScale(fitting) {
  return fitting < SMALLEST_READ ? FIRST_SCALE : fitting;
}
