// @ts-check
/**
 * Turns the difference of two passes, as the server tells it, into blocks and lines to draw.
 * Pure: knows no document. The wording of counts and the cutting of marks live here.
 */

import { visible } from "./report_visible.js";

/**
 * @typedef {{name: string, line: number, text: string, left_out?: number,
 *   mark?: [number, number] | null}} Side
 * @typedef {{kind: "added" | "removed" | "changed" | "moved" | "copied", opcode: string,
 *   before?: Side | null, after?: Side | null, what?: string[], how?: string, where?: string,
 *   times?: number}} Row `where` says what is copied, or where something moved
 * @typedef {{kind: "added" | "removed" | "changed", before: string | null, after: string | null,
 *   how: string, added?: number, removed?: number, changed?: number, moved?: number,
 *   copied?: number, moved_in?: number, moved_out?: number, renamed?: number, unchanged?: number, renames?: [string, string][], rows?: Row[],
 *   rows_left_out?: number, same_in?: string[], same_in_count?: number}} Change
 * @typedef {{totals: Record<string, number>, computations: Change[],
 *   renamed?: [string, string][], cut?: {shown: number, total: number, next_step: string} | null,
 *   }} PassDiff
 * @typedef {{sign: "-" | "+" | "~", word: string, number: number, parts: string[], note: string}} Line
 * @typedef {{title: string, summary: string, lines: Line[], notes: string[],
 *   renames: string[]}} Block
 */

const KINDS = /** @type {const} */ ([
  "added",
  "copied",
  "removed",
  "changed",
  "moved",
  "moved_in",
  "moved_out",
  "moved_between",
  "renamed",
]);
/** @type {Record<string, string>} */
const WORDS = {
  copied: "copied (among the added)",
  moved_in: "moved in",
  moved_out: "moved out",
  moved_between: "moved between computations",
};

/**
 * `3 added, 1 renamed`, or "" where nothing is counted.
 * @param {Record<string, any>} counts
 * @param {string} [prefix] of the keys
 */
export function countsText(counts, prefix = "") {
  return KINDS.filter((kind) => counts[prefix + kind])
    .map((kind) => `${counts[prefix + kind].toLocaleString("en")} ${WORDS[kind] ?? kind}`)
    .join(", ");
}

/**
 * The whole difference in a sentence.
 * @param {PassDiff} diff
 */
export function summaryText(diff) {
  const instructions = countsText(diff.totals, "instructions_");
  const computations = countsText(diff.totals, "computations_");
  const same = diff.totals.computations_unchanged ?? 0;
  const parts = [];
  if (instructions) parts.push(`Instructions: ${instructions}.`);
  if (computations) parts.push(`Computations: ${computations}.`);
  if (!parts.length) parts.push("The two texts say the same.");
  if (same) parts.push(`${same.toLocaleString("en")} equal computations are not shown.`);
  return parts.join(" ");
}

/**
 * The computations that differ, each with its lines.
 * @param {PassDiff} diff
 * @returns {Block[]}
 */
export function blocksOf(diff) {
  return diff.computations.map((change) => ({
    title: visible(titleOf(change)),
    summary: summaryOf(change),
    lines: (change.rows ?? []).flatMap(linesOf),
    notes: notesOf(change),
    renames: (change.renames ?? []).map(([before, after]) => visible(`${before} → ${after}`)),
  }));
}

/** @param {Change} change */
function titleOf(change) {
  if (change.before && change.after && change.before !== change.after) {
    return `${change.before} → ${change.after}`;
  }
  return change.after ?? change.before ?? "";
}

/** @param {Change} change */
function summaryOf(change) {
  const counts = countsText(change);
  if (change.kind === "added") return `new computation${counts ? `: ${counts}` : ""}`;
  if (change.kind === "removed") return `computation removed${counts ? `: ${counts}` : ""}`;
  const same = change.unchanged ? `${change.unchanged.toLocaleString("en")} unchanged` : "";
  return [counts, same].filter(Boolean).join(", ") || "changed";
}

/** @param {Change} change */
function notesOf(change) {
  const notes = [];
  if (change.same_in_count) {
    const names = (change.same_in ?? []).slice(0, 5).join(", ");
    const more = change.same_in_count > 5 ? ", ..." : "";
    notes.push(`The same in ${change.same_in_count.toLocaleString("en")} more: ${visible(names)}${more}`);
  }
  if (change.rows_left_out) {
    notes.push(`${change.rows_left_out.toLocaleString("en")} more edits are not shown.`);
  }
  if (change.kind === "changed" && change.how && change.how !== "same name") notes.push(`Paired by ${change.how}.`);
  return notes;
}

/**
 * @param {Row} row
 * @returns {Line[]}
 */
function linesOf(row) {
  const times = row.times && row.times > 1 ? `${row.times.toLocaleString("en")} times` : "";
  const what = (row.what ?? []).join(", ");
  const note = [times, what, visible(row.where ?? "")].filter(Boolean).join(", ");
  if (row.kind === "copied") return sideLines(row.after, "+", "copied", note);
  if (row.kind === "moved") return sideLines(row.after ?? row.before, "~", "moved", note);
  const lines = [...sideLines(row.before, "-", row.after ? "before" : "removed", note)];
  return [...lines, ...sideLines(row.after, "+", row.before ? "after" : "added", lines.length ? "" : note)];
}

/**
 * @param {Side | null | undefined} side
 * @param {Line["sign"]} sign
 * @param {string} word
 * @param {string} note
 * @returns {Line[]}
 */
function sideLines(side, sign, word, note) {
  if (!side) return [];
  const parts = markedParts(side.text, side.mark);
  if (side.left_out) parts[2] += ` ... (${side.left_out.toLocaleString("en")} characters more)`;
  return [{ sign, word, number: side.line, parts, note }];
}

/**
 * The text before, in and after the mark, which counts characters as the server does.
 * @param {string} text
 * @param {[number, number] | null | undefined} mark
 * @returns {string[]}
 */
export function markedParts(text, mark) {
  if (!mark) return [visible(text), "", ""];
  // The server counts code points; a string here counts UTF-16 units.
  const points = Array.from(text);
  const [from, to] = mark;
  return [points.slice(0, from), points.slice(from, to), points.slice(to)].map((part) =>
    visible(part.join("")),
  );
}
