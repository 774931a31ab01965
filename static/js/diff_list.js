// @ts-check
/**
 * The two panes as a list of which only what is in sight exists: rows of one height, placed by
 * `diff_rows.js`, drawn from a store. Text of a dump reaches the page by `textContent` alone.
 */

import { drawnSide, made, waitingSide } from "./diff_draw.js";
import { visible } from "./report_visible.js";

/**
 * @typedef {import("./diff_rows.js").Layout} Layout
 * @typedef {import("./diff_store.js").RowStore} RowStore
 * @typedef {import("./diff_pieces.js").Row} Row
 * @typedef {import("./diff_pieces.js").Side} Side
 */

export const LINE_PIXELS = 20;
const TWO_COLUMNS_PIXELS = 720;
const SPARE_LINES = 16;
// Rows whose text is drawn at once; the others follow in the next frames.
const ROWS_A_FRAME = 24;
const CHARACTER_PIXELS = 7.25;
// What line number, sign and badge take of a pane, with the word that differs.
const SIDE_PIXELS = 200;

/** Draws what is in sight of a scrolling element. */
export class PaneList {
  /**
   * @param {HTMLElement} frame that scrolls
   * @param {HTMLElement} across bar that moves long lines where there are two columns
   * @param {Layout} layout
   * @param {RowStore} store
   * @param {import("./diff_draw.js").Addresses} address
   */
  constructor(frame, across, layout, store, address) {
    this.frame = frame;
    this.across = across;
    this.layout = layout;
    this.store = store;
    this.address = address;
    this.here = -1;
    this.needle = "";
    this.widest = 0;
    /** @type {Map<number, HTMLElement>} */
    this.drawn = new Map();
    this.space = made("div", "panes-space");
    this.space.setAttribute("role", "rowgroup");
    frame.replaceChildren(this.space);
    frame.classList.add("listed");
    this.peek = made("p", "panes-peek");
    this.peek.hidden = true;
    frame.after(this.peek);
    this.asked = 0;
    frame.addEventListener("scroll", () => this.soon(), { passive: true });
    across.addEventListener("scroll", () => this.shift(), { passive: true });
    frame.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    new ResizeObserver(() => this.resize()).observe(frame);
    this.resize();
  }

  /** Draws once before the next frame, however often it is asked. */
  soon() {
    if (!this.asked) this.asked = requestAnimationFrame(() => this.draw());
  }

  /** Anew after folds were opened or closed, with the same row at the top. */
  replace() {
    this.clear();
    this.space.style.height = `${this.layout.lines * LINE_PIXELS}px`;
    this.frame.setAttribute("aria-rowcount", String(this.layout.items.length));
    this.draw();
  }

  clear() {
    for (const element of this.drawn.values()) element.remove();
    this.drawn.clear();
  }

  resize() {
    const columns = this.frame.clientWidth >= TWO_COLUMNS_PIXELS ? 2 : 1;
    if (columns !== this.layout.columns || !this.space.style.height) {
      const row = this.topRow();
      this.layout.columns = columns;
      this.layout.place();
      this.frame.classList.toggle("one-column", columns === 1);
      this.replace();
      this.show(row, 0);
    }
    this.draw();
  }

  topRow() {
    const { layout } = this;
    return layout.rowOf(layout.items[layout.positionAt(this.frame.scrollTop / LINE_PIXELS)] ?? 0);
  }

  /**
   * Brings a row to the given share of the height.
   * @param {number} row
   * @param {number} share
   */
  show(row, share) {
    const line = this.layout.tops[this.layout.positionOf(row)] ?? 0;
    this.frame.scrollTop = line * LINE_PIXELS - share * this.frame.clientHeight;
    this.soon();
  }

  /** @param {number} row */
  isInSight(row) {
    const top = this.layout.tops[this.layout.positionOf(row)] * LINE_PIXELS;
    const { scrollTop, clientHeight } = this.frame;
    return top >= scrollTop && top + 2 * LINE_PIXELS <= scrollTop + clientHeight;
  }

  draw() {
    if (this.asked) cancelAnimationFrame(this.asked);
    this.asked = 0;
    const { layout } = this;
    const top = this.frame.scrollTop / LINE_PIXELS - SPARE_LINES;
    const bottom = top + this.frame.clientHeight / LINE_PIXELS + 2 * SPARE_LINES;
    const first = layout.positionAt(Math.max(0, top));
    const last = Math.min(layout.items.length - 1, layout.positionAt(Math.max(0, bottom)));
    for (const [position, element] of this.drawn) {
      if (position >= first && position <= last) continue;
      element.remove();
      this.drawn.delete(position);
    }
    const wanted = [];
    const fresh = [];
    let room = ROWS_A_FRAME;
    for (let position = first; position <= last; position += 1) {
      const item = layout.items[position];
      if (item >= 0 && !this.store.get(item)) wanted.push(item);
      if (this.drawn.has(position)) continue;
      const element = this.drawnItem(item, position, room <= 0);
      room -= 1;
      this.drawn.set(position, element);
      fresh.push(element);
    }
    this.space.append(...fresh);
    if (room < 0) requestAnimationFrame(() => this.fill());
    this.store.want(wanted);
    this.measure();
  }

  /** Draws the rows whose text has come. */
  fill() {
    let room = ROWS_A_FRAME;
    for (const [position, element] of this.drawn) {
      if (!element.classList.contains("waiting")) continue;
      const item = this.layout.items[position];
      if (!this.store.get(item)) continue;
      if (room === 0) {
        requestAnimationFrame(() => this.fill());
        break;
      }
      room -= 1;
      const filled = this.drawnItem(item, position);
      element.replaceWith(filled);
      this.drawn.set(position, filled);
    }
    this.measure();
  }

  /** @param {number} row */
  choose(row) {
    this.here = row;
    for (const [position, element] of this.drawn) {
      const item = this.layout.items[position];
      element.classList.toggle("here", this.layout.rowOf(item) === row);
    }
  }

  /**
   * Marks the row of a counterpart that stands elsewhere; where it is out of sight, says where.
   * @param {number} row -1 for none
   */
  partner(row) {
    for (const element of this.space.querySelectorAll(".partner")) element.classList.remove("partner");
    this.peek.hidden = row < 0 || this.isInSight(row);
    if (row < 0) return;
    const item = this.layout.positionOf(row);
    this.drawn.get(item)?.classList.add("partner");
    if (this.peek.hidden) return;
    const found = this.store.get(row);
    const side = found?.after ?? found?.before;
    const where = row < this.topRow() ? "↑" : "↓";
    this.peek.textContent = side
      ? `${where} line ${side.line}: ${visible(side.text)}`
      : `${where} row ${row.toLocaleString("en")}`;
    if (!found) this.store.want([row]);
  }

  /**
   * @param {number} item
   * @param {number} position
   * @param {boolean} [later] whether its text is drawn in a later frame
   */
  drawnItem(item, position, later = false) {
    const row = this.layout.rowOf(item);
    const element = made("div", "row");
    element.setAttribute("role", "row");
    element.setAttribute("aria-rowindex", String(position + 1));
    element.dataset.row = String(row);
    element.style.top = `${this.layout.tops[position] * LINE_PIXELS}px`;
    element.classList.toggle("here", row === this.here);
    if (item < 0) {
      const cell = made("span", "");
      cell.setAttribute("role", "cell");
      const button = made("button", "", this.layout.rows.folds[-1 - item][2]);
      button.setAttribute("type", "button");
      button.dataset.fold = String(-1 - item);
      button.tabIndex = -1;
      cell.append(button);
      element.classList.add("fold");
      element.append(cell);
      return element;
    }
    const found = later ? undefined : this.store.get(item);
    if (!found) {
      element.classList.add("waiting");
      element.append(waitingSide("a"), waitingSide("b"));
      return element;
    }
    if (found.note) element.title = found.note;
    const sides = this.sidesOf(found);
    element.classList.toggle("two-lines", sides.length === 2 && this.layout.linesOf(item) === 2);
    for (const [name, side] of sides) {
      element.append(drawnSide(name, side, this.address, this.needle));
      this.widest = Math.max(this.widest, side?.text.length ?? 0);
    }
    return element;
  }

  /**
   * Both panes, or in one column those that have something to say.
   * @param {Row} row
   * @returns {["a" | "b", Side | null | undefined][]}
   */
  sidesOf(row) {
    if (this.layout.columns === 2) return [["a", row.before], ["b", row.after]];
    if (this.layout.linesOf(row.row) === 2) return [["a", row.before], ["b", row.after]];
    return row.after ? [["b", row.after]] : [["a", row.before]];
  }

  /** Room for the longest line seen, to be moved across. */
  measure() {
    const width = this.widest * CHARACTER_PIXELS + 80;
    if (this.layout.columns === 1) {
      this.across.hidden = true;
      this.space.style.width = `${Math.max(width, this.frame.clientWidth)}px`;
      return;
    }
    this.space.style.width = "100%";
    this.across.hidden = false;
    const inner = /** @type {HTMLElement} */ (this.across.firstElementChild);
    inner.style.width = `${this.across.clientWidth + Math.max(0, width - this.frame.clientWidth / 2)}px`;
  }

  /**
   * Moves long lines so that the first difference of a row is to be seen.
   * @param {Row} row
   */
  bringMark(row) {
    const starts = [row.before, row.after].flatMap((side) => {
      const mark = side?.marks?.find(([, , renamed]) => !renamed);
      return mark ? [mark[0]] : [];
    });
    const bar = this.layout.columns === 2 ? this.across : this.frame;
    const at = Math.min(...starts) * CHARACTER_PIXELS;
    const room = this.frame.clientWidth / this.layout.columns - SIDE_PIXELS;
    bar.scrollLeft = at > room ? at - room / 3 : 0;
  }

  shift() {
    this.space.style.setProperty("--across", `${-this.across.scrollLeft}px`);
  }

  /** @param {WheelEvent} event */
  wheel(event) {
    const sideways = event.shiftKey ? event.deltaY : event.deltaX;
    if (this.layout.columns === 1 || !sideways || event.ctrlKey) return;
    this.across.scrollLeft += sideways;
    if (event.shiftKey) event.preventDefault();
  }
}
