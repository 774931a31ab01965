// @ts-check
/**
 * The page of two texts side by side: what is chosen, opened and looked for stands in the address.
 * Rows come from the server as they are needed; the page is readable without this.
 */

import { drawnDetail } from "./diff_detail.js";
import { LINE_PIXELS, PaneList } from "./diff_list.js";
import { Layout } from "./diff_rows.js";
import { fetched, RowStore } from "./diff_store.js";
import { one } from "./elements.js";
import { isForThePage } from "./keys.js";
import { visible } from "./report_visible.js";

const ACROSS_PIXELS = 120;
const UPPER_SHARE = 0.3;
const MOST_OPEN = 200;

/**
 * @typedef {import("./diff_rows.js").Rows & {places: Record<string, number[]>, query: string,
 *   rows: string, find: string, texts: [string, string], graph: string, at: number,
 *   open: number[]}} Data
 */

/** @type {Data} */
const data = JSON.parse(one("#diff-data", HTMLElement).textContent ?? "");
const frame = one("#panes", HTMLElement);
const status = one("#diff-status", HTMLElement);
const detail = one("#detail", HTMLElement);
const search = one("#diff-search", HTMLFormElement);
const words = /** @type {HTMLInputElement} */ (search.elements.namedItem("q"));
/** @type {{query: string, rows: number[], total: number}} */
let hits = { query: "", rows: [], total: 0 };
let chosen = -1;

const layout = new Layout({ total: data.total, before: data.before, after: data.after, folds: data.folds }, data.open);
const store = new RowStore(`${data.rows}?${data.query}`, (problem) => {
  if (problem) say(`Rows were not loaded: ${problem}. Scroll to try again.`);
  list.fill();
});
const list = new PaneList(frame, one("#panes-across", HTMLElement), layout, store, {
  row: addressOf,
  line: (side, line) => `${data.texts[side === "a" ? 0 : 1]}${line}`,
});

/** @param {string} text */
function say(text) {
  status.textContent = text;
}

/** @param {number} row */
function addressOf(row) {
  const query = new URLSearchParams(data.query);
  if (row >= 0) query.set("at", String(row));
  const opened = [...layout.opened].slice(0, MOST_OPEN);
  if (opened.length) query.set("open", opened.join(","));
  if (words.value.trim()) query.set("q", words.value.trim());
  return `${location.pathname}?${query}`;
}

function remember() {
  history.replaceState({ row: chosen }, "", addressOf(chosen));
}

/**
 * Chooses a row and brings it into sight.
 * @param {number} row
 * @param {{far?: boolean, folded?: boolean}} [how] `far`: the way back leads to where one was;
 *   `folded`: what hides the row may stay closed
 */
function go(row, { far = false, folded = false } = {}) {
  if (far) history.pushState({ row }, "", addressOf(row));
  if (!folded && layout.reveal(row)) list.replace();
  chosen = row;
  list.choose(row);
  if (!list.isInSight(row)) list.show(row, UPPER_SHARE);
  remember();
  tell(row);
}

/**
 * Shows the whole of a row below the panes.
 * @param {number} row
 */
async function tell(row) {
  const item = layout.items[layout.positionOf(row)];
  if (item < 0) {
    detail.hidden = true;
    say(`Folded: ${layout.rows.folds[-1 - item][2]}. Enter opens it.`);
    return;
  }
  try {
    const found = await store.whole(row);
    if (row !== chosen) return;
    detail.replaceChildren(...drawnDetail(found, data, addressOf));
    detail.hidden = false;
    list.bringMark(store.get(row) ?? found);
  } catch (error) {
    say(`The row was not loaded: ${error instanceof Error ? error.message : error}.`);
  }
}

/** @param {1 | -1} step */
function nextChange(step) {
  const row = layout.nextChange(chosen < 0 && step > 0 ? -1 : chosen, step);
  if (row === null) say(step > 0 ? "No change further down." : "No change further up.");
  else go(row);
}

/** @param {1 | -1} step */
function nextRow(step) {
  const at = chosen < 0 ? layout.positionAt(frame.scrollTop / LINE_PIXELS) - step : layout.positionOf(chosen);
  const item = layout.items[at + step];
  if (item !== undefined) go(layout.rowOf(item), { folded: true });
}

/** @param {number} fold */
function toggle(fold) {
  const row = layout.rows.folds[fold][0];
  if (!layout.opened.delete(fold)) layout.opened.add(fold);
  layout.place();
  list.replace();
  go(row, { folded: true });
}

/** Opens or closes the fold of the chosen row, or follows a moved instruction. */
function openChosen() {
  if (chosen < 0) return;
  const item = layout.items[layout.positionOf(chosen)];
  if (item < 0) {
    toggle(-1 - item);
    return;
  }
  const elsewhere = store.get(chosen)?.before?.elsewhere ?? store.get(chosen)?.after?.elsewhere;
  const fold = layout.foldOf(chosen);
  if (typeof elsewhere === "number") go(elsewhere, { far: true });
  else if (fold >= 0) toggle(fold);
}

function toggleAll() {
  const row = chosen >= 0 ? chosen : list.topRow();
  const all = layout.opened.size < layout.rows.folds.length;
  layout.opened = new Set(all ? layout.rows.folds.keys() : []);
  layout.place();
  list.replace();
  list.show(row, UPPER_SHARE);
  const button = one('[data-do="folds"]', HTMLElement);
  button.setAttribute("aria-pressed", String(all));
}

/** @param {1 | -1} step */
async function find(step) {
  const query = words.value.trim();
  if (!query) return;
  if (query !== hits.query) {
    try {
      const found = await fetched(`${data.find}?${data.query}&query=${encodeURIComponent(query)}`);
      hits = { query, rows: found.rows, total: found.total };
    } catch (error) {
      say(`Nothing was searched: ${error instanceof Error ? error.message : error}.`);
      return;
    }
    list.needle = query.toLowerCase();
    list.replace();
  }
  if (!hits.rows.length) {
    say(`“${visible(query)}” is in neither text.`);
    return;
  }
  const next = step > 0 ? hits.rows.find((row) => row > chosen) : hits.rows.findLast((row) => row < chosen);
  const row = next ?? hits.rows.at(step > 0 ? 0 : -1) ?? 0;
  go(row);
  say(`Hit ${(hits.rows.indexOf(row) + 1).toLocaleString("en")} of ${hits.total.toLocaleString("en")}.`);
}

/** @type {Record<string, () => void>} */
const KEYS = {
  n: () => nextChange(1),
  j: () => nextChange(1),
  p: () => nextChange(-1),
  k: () => nextChange(-1),
  o: openChosen,
  x: toggleAll,
  "/": () => words.select(),
  "]": () => document.getElementById("later-pass")?.click(),
  "[": () => document.getElementById("earlier-pass")?.click(),
};
/** @type {Record<string, () => void>} */
const KEYS_OF_FRAME = {
  ArrowDown: () => nextRow(1),
  ArrowUp: () => nextRow(-1),
  ArrowRight: () => { list.across.scrollLeft += ACROSS_PIXELS; },
  ArrowLeft: () => { list.across.scrollLeft -= ACROSS_PIXELS; },
  Enter: openChosen,
  Home: () => go(0),
  End: () => go(data.total - 1),
};

addEventListener("keydown", (event) => {
  if (!isForThePage(event)) return;
  const action = KEYS[event.key] ?? (event.target === frame ? KEYS_OF_FRAME[event.key] : undefined);
  if (!action) return;
  event.preventDefault();
  action();
});
words.addEventListener("keydown", (event) => {
  if (event.key === "Enter") {
    event.preventDefault();
    find(event.shiftKey ? -1 : 1);
  } else if (event.key === "Escape") {
    frame.focus();
  }
});
search.addEventListener("submit", (event) => {
  event.preventDefault();
  find(1);
});
addEventListener("popstate", (event) => {
  const row = event.state?.row ?? -1;
  if (row < 0) return;
  if (layout.reveal(row)) list.replace();
  chosen = row;
  list.choose(row);
  list.show(row, UPPER_SHARE);
  tell(row);
});

/** @param {MouseEvent} event */
function clicked(event) {
  if (event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  const target = /** @type {Element} */ (event.target);
  const fold = target.closest("[data-fold]");
  const link = target.closest("a");
  if (fold instanceof HTMLElement) {
    toggle(Number(fold.dataset.fold));
  } else if (link?.dataset.row) {
    event.preventDefault();
    go(Number(link.dataset.row), { far: true });
  } else if (!link) {
    const row = target.closest(".row");
    if (row instanceof HTMLElement && !getSelection()?.toString()) go(Number(row.dataset.row));
  }
}

frame.addEventListener("click", clicked);
detail.addEventListener("click", clicked);
one("#outline", HTMLElement).addEventListener("click", clicked);
frame.addEventListener("pointerover", (event) => {
  const pane = /** @type {Element} */ (event.target).closest(".pane");
  const row = pane?.closest(".row");
  const found = row instanceof HTMLElement ? store.get(Number(row.dataset.row)) : undefined;
  const side = found && (pane?.classList.contains("a") ? found.before : found.after);
  list.partner(typeof side?.elsewhere === "number" ? side.elsewhere : -1);
});

const buttons = one("#diff-buttons", HTMLElement);
buttons.hidden = false;
buttons.addEventListener("click", (event) => {
  const what = /** @type {HTMLElement} */ (event.target).dataset.do;
  if (what === "folds") toggleAll();
  else if (what) nextChange(what === "next" ? 1 : -1);
});

const filter = one("#outline-filter", HTMLInputElement);
filter.hidden = false;
filter.addEventListener("input", () => {
  const part = filter.value.trim().toLowerCase();
  for (const item of document.querySelectorAll("#outline-list > li")) {
    item.toggleAttribute("hidden", !item.textContent?.toLowerCase().includes(part));
  }
});
if (matchMedia("(width < 64rem)").matches) one("#outline", HTMLDetailsElement).open = false;

say(`${layout.items.length.toLocaleString("en")} of ${(data.total).toLocaleString("en")} rows; the rest is folded.`);
if (data.at >= 0) go(data.at);
if (words.value.trim()) {
  list.needle = words.value.trim().toLowerCase();
  list.replace();
}
