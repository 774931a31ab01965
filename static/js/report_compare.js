// @ts-check
/**
 * Compares two passes of a module: picks them, fetches their difference, draws it.
 *
 * The pair stands in the address (`#compare/MODULE/BEFORE/AFTER`), so that a link leads to it and
 * the links of the tables do. Text of a dump reaches the page by `textContent` alone.
 */

import { blocksOf, summaryText } from "./report_changes.js";
import { comparePlace, lastChanged, moduleAddress, moduleAt } from "./report_places.js";

/**
 * @typedef {import("./report_places.js").ModuleTexts} ModuleTexts
 * @typedef {import("./report_places.js").PassData} PassData
 * @typedef {import("./report_changes.js").Block} Block
 * @typedef {import("./report_changes.js").Line} Line
 */

const OPEN_LINES = 400;
const MAX_SHOWN = 300;

/**
 * @param {string} tag
 * @param {string} className
 * @param {string} [text]
 */
function made(tag, className, text = "") {
  const element = document.createElement(tag);
  element.className = className;
  element.textContent = text;
  return element;
}

/**
 * @param {Line} line
 * @param {string} address of the line in its text
 */
function drawnLine(line, address) {
  const item = made("li", { "-": "was", "+": "is", "~": "moved" }[line.sign]);
  const number = document.createElement("a");
  number.className = "change-number";
  number.href = address;
  number.textContent = String(line.number);
  item.append(made("span", "change-sign", `${line.sign} ${line.word}`), number);
  const text = made("code", "change-text");
  const [start, middle, end] = line.parts;
  text.append(start);
  if (middle) text.append(made("mark", "", middle));
  text.append(end);
  item.append(text);
  if (line.note) item.append(made("span", "change-note", line.note));
  return item;
}

/**
 * @param {Block} block
 * @param {boolean} open
 * @param {(line: Line) => string} addressOf
 */
function drawnBlock(block, open, addressOf) {
  /** @type {(line: Line) => HTMLElement} */
  const drawn = (line) => drawnLine(line, addressOf(line));
  const details = document.createElement("details");
  details.className = "change-block";
  details.open = open;
  const summary = document.createElement("summary");
  summary.append(made("code", "name", block.title), " ", made("span", "note", block.summary));
  details.append(summary);
  for (const note of block.notes) details.append(made("p", "note", note));
  if (block.lines.length) {
    const list = made("ul", "change-lines");
    list.tabIndex = 0;
    list.setAttribute("aria-label", `Changes of ${block.title}`);
    list.append(...block.lines.slice(0, MAX_SHOWN).map(drawn));
    details.append(list);
    const rest = block.lines.slice(MAX_SHOWN);
    if (rest.length) {
      const button = made("button", "button quiet", `Show ${rest.length} more lines`);
      button.addEventListener("click", () => {
        list.append(...rest.map(drawn));
        button.remove();
      });
      details.append(button);
    }
  }
  if (block.renames.length) {
    const renames = document.createElement("details");
    renames.className = "renames";
    renames.append(
      made("summary", "", `${block.renames.length} renamed`),
      made("p", "change-renames", block.renames.join("\n")),
    );
    details.append(renames);
  }
  return details;
}

/**
 * @param {HTMLSelectElement} select
 * @param {{value: number, text: string}[]} options
 * @param {number} chosen
 */
function fill(select, options, chosen) {
  select.replaceChildren(
    ...options.map(({ value, text }) => {
      const option = document.createElement("option");
      option.value = String(value);
      option.textContent = text;
      option.selected = value === chosen;
      return option;
    }),
  );
}

/** The compare section of one page. */
class Comparison {
  /**
   * @param {PassData} data
   * @param {HTMLFormElement} form
   * @param {HTMLElement} status
   * @param {HTMLElement} result
   */
  constructor(data, form, status, result) {
    this.data = data;
    this.form = form;
    this.status = status;
    this.result = result;
    this.asked = 0;
    form.hidden = false;
    form.addEventListener("submit", (event) => event.preventDefault());
    this.select("module").addEventListener("change", () => this.pickModule());
    for (const name of ["before", "after"]) {
      this.select(name).addEventListener("change", () => this.go(this.before, this.after));
    }
    this.button("earlier").addEventListener("click", () => this.go(this.after - 2, this.after - 1));
    this.button("later").addEventListener("click", () => this.go(this.after, this.after + 1));
  }

  /** @param {string} name */
  select(name) {
    return /** @type {HTMLSelectElement} */ (this.form.elements.namedItem(name));
  }

  /** @param {string} name */
  button(name) {
    return /** @type {HTMLButtonElement} */ (this.form.elements.namedItem(name));
  }

  get before() {
    return Number(this.select("before").value);
  }

  get after() {
    return Number(this.select("after").value);
  }

  /** Offers the pair of the address, or the last two unequal texts of the first module. */
  start() {
    const place = comparePlace(location.hash);
    const found = place && moduleAt(this.data, place.module);
    const module = found || this.data.modules[0];
    const last = module.texts.length - 1;
    const after = found && place ? Math.min(place.after, last) : lastChanged(module);
    const before = found && place ? Math.min(place.before, last) : after - 1;
    fill(
      this.select("module"),
      this.data.modules.map((item) => ({ value: item.position, text: item.name })),
      module.position,
    );
    const changed = new Set(module.changed ?? module.texts.keys());
    const texts = module.texts.map((text, value) => ({
      value,
      text: value === 0 || changed.has(value) ? text : `${text} (unchanged)`,
    }));
    fill(this.select("before"), texts, before);
    fill(this.select("after"), texts, after);
    this.button("earlier").disabled = after < 2;
    this.button("later").disabled = after >= last;
    if (!found) return;
    document.getElementById("compare")?.scrollIntoView();
    this.show(module, before, after);
  }

  pickModule() {
    const module = moduleAt(this.data, Number(this.select("module").value));
    if (module) this.go(lastChanged(module) - 1, lastChanged(module));
  }

  /**
   * @param {number} before
   * @param {number} after
   */
  go(before, after) {
    location.hash = `#compare/${this.select("module").value}/${before}/${after}`;
  }

  /**
   * @param {ModuleTexts} module
   * @param {number} before
   * @param {number} after
   */
  async show(module, before, after) {
    this.asked += 1;
    const asked = this.asked;
    this.status.textContent = "Comparing…";
    this.result.replaceChildren();
    this.offerPanes(module, before, after);
    const address = `${moduleAddress(this.data, module)}/diff/${before}/${after}`;
    try {
      const answer = await fetch(address, { headers: { accept: "application/json" } });
      if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
      const diff = await answer.json();
      // An answer to a question that was asked anew meanwhile is of no interest.
      if (asked === this.asked) this.draw(diff, module.position, before, after);
    } catch (error) {
      if (asked !== this.asked) return;
      const why = error instanceof Error ? error.message : String(error);
      this.status.textContent = `The two texts could not be compared: ${why}.`;
    }
  }

  /**
   * Shows the way to the page with both texts side by side.
   * @param {ModuleTexts} module
   * @param {number} before
   * @param {number} after
   */
  offerPanes(module, before, after) {
    const place = document.getElementById("compare-panes");
    const link = place?.querySelector("a");
    if (!place || !link) return;
    link.href = `${this.data.base}/diff?${new URLSearchParams({ module: module.id, a: `${before}`, b: `${after}` })}`;
    place.hidden = false;
  }

  /**
   * @param {import("./report_changes.js").PassDiff} diff
   * @param {number} module
   * @param {number} before
   * @param {number} after
   */
  draw(diff, module, before, after) {
    /** @type {(line: Line) => string} */
    const addressOf = (line) =>
      `#text/${module}/${line.sign === "-" ? before : after}/${line.number}`;
    const cut = diff.cut
      ? ` Shown: ${diff.cut.shown} of ${diff.cut.total}. ${diff.cut.next_step}`
      : "";
    this.status.textContent = summaryText(diff) + cut;
    let room = OPEN_LINES;
    for (const block of blocksOf(diff)) {
      this.result.append(drawnBlock(block, room > 0, addressOf));
      room -= block.lines.length;
    }
  }
}

const element = document.getElementById("report-data");
/** @type {PassData | null} */
const passes = element?.textContent ? JSON.parse(element.textContent).passes : null;
const data = passes && {
  base: passes.base,
  modules: passes.modules.filter((module) => module.texts.length > 1),
};
const form = document.getElementById("compare-form");
const status = document.getElementById("compare-status");
const result = document.getElementById("compare-result");
if (data && data.modules.length && form instanceof HTMLFormElement && status && result) {
  const comparison = new Comparison(data, form, status, result);
  comparison.start();
  addEventListener("hashchange", () => {
    if (comparePlace(location.hash)) comparison.start();
  });
}
