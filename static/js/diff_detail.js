// @ts-check
/** What the panel below the two panes says of the chosen row. */

import { drawnText, made } from "./diff_draw.js";
import { KINDS } from "./diff_pieces.js";
import { visible } from "./report_visible.js";

/**
 * @typedef {import("./diff_pieces.js").Row} Row
 * @typedef {{places: Record<string, number[]>, query: string, texts: [string, string],
 *   graph: string}} Data
 */

const MOST_PLACES = 40;

/**
 * The whole of a row, its links and the other places of its edit.
 * @param {Row} row
 * @param {Data} data
 * @param {(row: number) => string} addressOf
 */
export function drawnDetail(row, data, addressOf) {
  const parts = [];
  for (const [name, side] of /** @type {const} */ ([["a", row.before], ["b", row.after]])) {
    if (!side) continue;
    const part = made("div", `detail-side kind-${side.kind}`);
    const head = made("p", "note", `${name}, line ${side.line.toLocaleString("en")}: ${KINDS[side.kind][1]} `);
    const text = /** @type {HTMLAnchorElement} */ (made("a", "", "text"));
    text.href = `${data.texts[name === "a" ? 0 : 1]}${side.line}`;
    const graph = /** @type {HTMLAnchorElement} */ (made("a", "", "graph"));
    const query = new URLSearchParams(data.query);
    const at = { module: query.get("module") ?? "", text: query.get(name) ?? "", line: String(side.line) };
    graph.href = `${data.graph}?${new URLSearchParams(at)}`;
    head.append(text, " ", graph);
    if (typeof side.elsewhere === "number") {
      const other = /** @type {HTMLAnchorElement} */ (made("a", "", "other place"));
      other.href = addressOf(side.elsewhere);
      other.dataset.row = String(side.elsewhere);
      head.append(" ", other);
    }
    part.append(head, drawnText(side, addressOf, 0));
    parts.push(part);
  }
  if (row.note) parts.push(made("p", "note", visible(row.note)));
  const places = placesOf(row, data, addressOf);
  if (places) parts.push(places);
  return parts;
}

/**
 * Links to the other rows of the same edit.
 * @param {Row} row
 * @param {Data} data
 * @param {(row: number) => string} addressOf
 */
function placesOf(row, data, addressOf) {
  const number = row.after?.edit || row.before?.edit || 0;
  const rows = (data.places[number] ?? []).filter((place) => place !== row.row);
  if (!rows.length) return null;
  const line = made("p", "note detail-places", "The same edit in rows ");
  for (const place of rows.slice(0, MOST_PLACES)) {
    const link = /** @type {HTMLAnchorElement} */ (made("a", "", String(place)));
    link.href = addressOf(place);
    link.dataset.row = String(place);
    line.append(link, " ");
  }
  if (rows.length > MOST_PLACES) line.append(`and ${rows.length - MOST_PLACES} more`);
  return line;
}
