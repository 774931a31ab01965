// @ts-check
/**
 * Tables of a view: sorted by a click on a heading (`table.sortable`), filtered by a word
 * (`input[data-filters]` with the table's id), and unfolded (`button[aria-controls]`). Numbers to
 * sort by stand in `data-value`. A table is whole without this.
 */

import { nextDirection, ordered } from "./ordering.js";

/** Makes all tables of the page answer. */
export function startTables() {
  for (const table of document.querySelectorAll("table.sortable")) {
    if (table instanceof HTMLTableElement) makeSortable(table);
  }
  for (const input of document.querySelectorAll("input[data-filters]")) {
    if (input instanceof HTMLInputElement) makeFilter(input);
  }
  for (const button of document.querySelectorAll("button[aria-controls]")) {
    if (button instanceof HTMLButtonElement) makeFold(button);
  }
}

/** @param {HTMLTableElement} table */
function makeSortable(table) {
  const headings = [...(table.tHead?.rows[0]?.cells ?? [])];
  headings.forEach((heading, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "heading";
    button.append(...heading.childNodes);
    heading.append(button);
    button.addEventListener("click", () => {
      const rows = [...table.tBodies].flatMap((body) => [...body.rows]);
      const values = rows.map((row) => valueOf(row.cells[column]));
      const isNumber = values.some((value) => typeof value === "number");
      const direction = nextDirection(heading.getAttribute("aria-sort"), isNumber);
      for (const other of headings) other.removeAttribute("aria-sort");
      heading.setAttribute("aria-sort", direction);
      const order = ordered(values, direction);
      // Each body keeps as many rows as it had: the folded ones stay folded.
      let next = 0;
      for (const body of table.tBodies) {
        const end = next + body.rows.length;
        body.append(...order.slice(next, end).map((position) => rows[position]));
        next = end;
      }
    });
  });
}

/** @param {HTMLTableCellElement} cell */
function valueOf(cell) {
  const number = cell.dataset.value;
  return number === undefined ? (cell.textContent ?? "").trim() : Number(number);
}

/** @param {HTMLInputElement} input */
function makeFilter(input) {
  const table = document.getElementById(input.dataset.filters ?? "");
  if (!(table instanceof HTMLTableElement)) return;
  const field = input.closest("label");
  if (field) field.hidden = false;
  input.addEventListener("input", () => {
    const word = input.value.trim().toLowerCase();
    for (const body of table.tBodies) {
      for (const row of body.rows) {
        row.hidden = !(row.textContent ?? "").toLowerCase().includes(word);
      }
    }
  });
}

/** @param {HTMLButtonElement} button */
function makeFold(button) {
  const rows = document.getElementById(button.getAttribute("aria-controls") ?? "");
  if (!rows) return;
  rows.hidden = true;
  button.hidden = false;
  button.setAttribute("aria-expanded", "false");
  button.addEventListener("click", () => {
    rows.hidden = false;
    button.hidden = true;
  });
}
