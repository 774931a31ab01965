// @ts-check
/**
 * Shows the text of a pass around the line that the address names (`#text/MODULE/TEXT/LINE`), and
 * searches the instructions of that text. The texts come from the server a window at a time.
 */

import {
  LINES_SHOWN,
  firstLineFor,
  graphAddress,
  moduleAddress,
  moduleAt,
  textPlace,
} from "./report_places.js";
import { visible } from "./report_visible.js";

/**
 * @typedef {import("./report_places.js").PassData} PassData
 * @typedef {{number: number, text: string, left_out?: number}} TextLine
 * @typedef {{first: number, total_lines: number, lines: TextLine[]}} TextWindow
 * @typedef {{module: number, text: number, line: number}} Place
 */

/**
 * @param {string} address
 * @returns {Promise<any>}
 */
async function fetched(address) {
  const answer = await fetch(address, { headers: { accept: "application/json" } });
  if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
  return answer.json();
}

/** @param {unknown} error */
function reason(error) {
  return error instanceof Error ? error.message : String(error);
}

/** The text section of one page. */
class TextReader {
  /**
   * @param {PassData} data
   * @param {HTMLElement} section
   */
  constructor(data, section) {
    this.data = data;
    this.section = section;
    this.asked = 0;
    this.searched = 0;
    /** @type {Place | null} */
    this.place = null;
    this.first = 1;
    this.total = 0;
    this.part("#text-earlier").addEventListener("click", () => this.load(this.first - LINES_SHOWN));
    this.part("#text-later").addEventListener("click", () => this.load(this.first + LINES_SHOWN));
    this.part("#text-search").addEventListener("submit", (event) => {
      event.preventDefault();
      this.search();
    });
  }

  /** @param {string} selector */
  part(selector) {
    return /** @type {HTMLElement} */ (this.section.querySelector(selector));
  }

  get module() {
    return this.place && moduleAt(this.data, this.place.module);
  }

  /** Goes to the line of the address, if it names one; else what is open stays. */
  async follow() {
    const place = textPlace(location.hash);
    const module = place && moduleAt(this.data, place.module);
    if (!place || !module || place.text >= module.texts.length) return;
    this.place = place;
    this.section.hidden = false;
    this.part("#text-of").textContent = `${module.texts[place.text]}, ${module.name}`;
    this.part("#text-found").replaceChildren();
    const raw = /** @type {HTMLAnchorElement} */ (this.part("#text-raw"));
    raw.href = `${moduleAddress(this.data, module)}/texts/${place.text}/raw`;
    const graph = /** @type {HTMLAnchorElement} */ (this.part("#text-graph"));
    graph.href = graphAddress(this.data, module, place.text, place.line);
    await this.load(firstLineFor(place.line));
    // Only now is the page long enough to bring the section to the top.
    this.section.scrollIntoView();
  }

  /** @param {number} first */
  async load(first) {
    const { place, module } = this;
    if (!place || !module) return;
    this.asked += 1;
    const asked = this.asked;
    const status = this.part("#text-status");
    status.textContent = "Loading…";
    const query = new URLSearchParams({ first: `${Math.max(1, first)}`, count: `${LINES_SHOWN}` });
    try {
      const found = await fetched(`${moduleAddress(this.data, module)}/texts/${place.text}?${query}`);
      if (asked === this.asked) this.draw(found, place.line);
    } catch (error) {
      if (asked === this.asked) status.textContent = `The text was not loaded: ${reason(error)}.`;
    }
  }

  /**
   * @param {TextWindow} found
   * @param {number} marked
   */
  draw(found, marked) {
    this.first = found.first;
    this.total = found.total_lines;
    const last = found.first + found.lines.length - 1;
    this.part("#text-status").textContent =
      `Lines ${found.first.toLocaleString("en")} to ${last.toLocaleString("en")} of ${found.total_lines.toLocaleString("en")}.`;
    /** @type {HTMLButtonElement} */ (this.part("#text-earlier")).disabled = found.first <= 1;
    /** @type {HTMLButtonElement} */ (this.part("#text-later")).disabled = last >= this.total;
    this.part("#text-lines").replaceChildren(
      ...found.lines.map((line) => {
        const row = document.createElement("span");
        row.className = line.number === marked ? "line here" : "line";
        const number = document.createElement("a");
        number.className = "number";
        number.href = `#text/${this.place?.module}/${this.place?.text}/${line.number}`;
        number.textContent = String(line.number);
        row.append(number, visible(line.text));
        if (line.left_out) row.append(` ... (${line.left_out.toLocaleString("en")} characters more)`);
        row.append("\n");
        return row;
      }),
    );
  }

  async search() {
    const { place, module } = this;
    const input = this.section.querySelector("#text-search input");
    if (!place || !module || !(input instanceof HTMLInputElement) || !input.value.trim()) return;
    const list = this.part("#text-found");
    this.searched += 1;
    const searched = this.searched;
    const query = new URLSearchParams({ query: input.value.trim() });
    try {
      const address = `${moduleAddress(this.data, module)}/texts/${place.text}/search?${query}`;
      const found = await fetched(address);
      if (searched !== this.searched || place !== this.place) return;
      list.replaceChildren(
        ...found.hits.map((/** @type {any} */ hit) => {
          const item = document.createElement("li");
          const link = document.createElement("a");
          link.href = `#text/${place.module}/${place.text}/${hit.line}`;
          link.textContent = `${hit.line}: ${visible(hit.text)}`;
          item.append(link);
          return item;
        }),
      );
      this.part("#text-status").textContent = found.cut
        ? `${found.cut.total.toLocaleString("en")} instructions found, ${found.cut.shown} shown.`
        : `${found.hits.length.toLocaleString("en")} instructions found.`;
    } catch (error) {
      this.part("#text-status").textContent = `Nothing was searched: ${reason(error)}.`;
    }
  }
}

const element = document.getElementById("report-data");
/** @type {PassData | null} */
const data = element?.textContent ? JSON.parse(element.textContent).passes : null;
const section = document.getElementById("text");
if (data && section) {
  const reader = new TextReader(data, section);
  reader.follow();
  addEventListener("hashchange", () => reader.follow());
}
