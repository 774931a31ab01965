// @ts-check
/**
 * A line of text cut where a mark or a name begins or ends, ready to be drawn. Pure.
 * `app/report/compare_rows.py` does the same for a page without a script.
 */

import { visible } from "./report_visible.js";

/**
 * @typedef {{kind: string, name: string, line: number, text: string, skipped?: number,
 *   left_out?: number, marks?: [number, number, boolean][], names?: [number, number, number][],
 *   elsewhere?: number | null, edit?: number, times?: number}} Side
 * @typedef {{row: number, before?: Side | null, after?: Side | null, note?: string}} Row
 * @typedef {{text: string, mark: "" | "differs" | "renamed", row: number}} Piece `row`: where the
 *   name is defined, -1 for text that is no name
 */

/** @type {Record<string, [string, string]>} */
export const KINDS = {
  H: ["", "computation"],
  s: ["", "unchanged"],
  r: ["≈", "renamed"],
  c: ["~", "changed"],
  a: ["+", "added"],
  d: ["−", "removed"],
  m: ["↕", "moved"],
  x: ["↕", "elsewhere in the text"],
  y: ["⊕", "copied"],
};

/**
 * The pieces of a side; positions count code points, as the server does.
 * @param {Side} side
 * @returns {Piece[]}
 */
export function piecesOf(side) {
  const points = isAscii(side.text) ? null : Array.from(side.text);
  const length = points ? points.length : side.text.length;
  const cut = (/** @type {number} */ from, /** @type {number} */ to) =>
    visible(points ? points.slice(from, to).join("") : side.text.slice(from, to));
  const marks = side.marks ?? [];
  const names = side.names ?? [];
  const ends = new Set([0, length]);
  for (const [start, end] of [...marks, ...names]) ends.add(start).add(end);
  const sorted = [...ends].sort((a, b) => a - b);
  /** @type {Piece[]} */
  const pieces = [];
  let m = 0;
  let n = 0;
  for (let i = 0; i + 1 < sorted.length; i += 1) {
    const [start, end] = [sorted[i], sorted[i + 1]];
    while (m < marks.length && marks[m][1] <= start) m += 1;
    while (n < names.length && names[n][1] <= start) n += 1;
    const mark = m < marks.length && marks[m][0] <= start ? marks[m] : null;
    const name = n < names.length && names[n][0] <= start ? names[n] : null;
    pieces.push({
      text: cut(start, end),
      mark: mark ? (mark[2] ? "renamed" : "differs") : "",
      row: name ? name[2] : -1,
    });
  }
  return pieces;
}

/** @param {string} text */
function isAscii(text) {
  // eslint-disable-next-line no-control-regex
  return /^[\x00-\x7f]*$/.test(text);
}
