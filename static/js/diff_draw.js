// @ts-check
/** One side of a row of two texts as elements; `templates/_panes.html` makes the same without a script. */

import { KINDS, piecesOf } from "./diff_pieces.js";

/**
 * @typedef {import("./diff_pieces.js").Side} Side
 * @typedef {{row: (row: number) => string, line: (side: "a" | "b", line: number) => string}} Addresses
 */

/**
 * @param {string} tag
 * @param {string} className
 * @param {string} [text]
 */
export function made(tag, className, text = "") {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text) element.textContent = text;
  return element;
}

/**
 * The text of a side as elements; names lead to their rows.
 * @param {Side} side
 * @param {(row: number) => string} addressOf
 * @param {number} tabIndex of its links
 */
export function drawnText(side, addressOf, tabIndex) {
  const text = made("code", "text");
  if (side.skipped) text.append("…");
  for (const piece of piecesOf(side)) {
    if (piece.row >= 0) {
      const link = /** @type {HTMLAnchorElement} */ (made("a", piece.mark, piece.text));
      link.href = addressOf(piece.row);
      link.dataset.row = String(piece.row);
      link.tabIndex = tabIndex;
      text.append(link);
    } else if (piece.mark) {
      text.append(made("mark", piece.mark, piece.text));
    } else {
      text.append(piece.text);
    }
  }
  if (side.left_out) text.append(` … ${side.left_out.toLocaleString("en")} characters more`);
  return text;
}

/** @param {string} name */
export function waitingSide(name) {
  const cell = made("span", `pane ${name}`, "…");
  cell.setAttribute("role", "cell");
  return cell;
}

/**
 * @param {"a" | "b"} name
 * @param {Side | null | undefined} side
 * @param {Addresses} address
 * @param {string} needle what is looked for, in small letters, or ""
 */
export function drawnSide(name, side, address, needle) {
  const cell = made("span", `pane ${name} kind-${side ? side.kind : "none"}`);
  cell.setAttribute("role", "cell");
  if (!side) return cell;
  const [sign, word] = KINDS[side.kind];
  const line = /** @type {HTMLAnchorElement} */ (made("a", "line", String(side.line)));
  line.href = address.line(name, side.line);
  line.tabIndex = -1;
  line.title = `${word}; opens the text at this line`;
  const shown = made("span", "sign", sign);
  shown.title = word;
  const text = drawnText(side, address.row, -1);
  if (needle && side.text.toLowerCase().includes(needle)) text.classList.add("found");
  cell.append(line, shown, text);
  if (typeof side.elsewhere === "number") {
    const badge = /** @type {HTMLAnchorElement} */ (made("a", "pane-badge", "↗"));
    badge.title = "its other place";
    badge.setAttribute("aria-label", "other place");
    badge.href = address.row(side.elsewhere);
    badge.dataset.row = String(side.elsewhere);
    badge.tabIndex = -1;
    cell.append(badge);
  } else if ((side.times ?? 0) > 1) {
    cell.append(made("span", "pane-badge", `edit ${side.edit}: ${side.times?.toLocaleString("en")} times`));
  }
  return cell;
}
