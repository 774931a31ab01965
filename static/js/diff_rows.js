// @ts-check
/**
 * Which rows of two panes are on the screen, and where: folds open and closed, heights, the next
 * change. Pure: knows no document and no text of a row.
 */

/**
 * @typedef {[number, number, string]} Fold first row, rows, words
 * @typedef {{total: number, before: string, after: string, folds: Fold[]}} Rows
 */

const EDITED = "cadmy";

/**
 * Rows and folds as items from top to bottom. An item is a row, or `-1 - n` for the closed fold n.
 * In one column a row that has two different sides takes two lines.
 */
export class Layout {
  /**
   * @param {Rows} rows
   * @param {Iterable<number>} opened positions of folds
   */
  constructor(rows, opened) {
    this.rows = rows;
    this.opened = new Set([...opened].filter((fold) => fold < rows.folds.length));
    this.columns = 2;
    /** @type {number[]} */
    this.items = [];
    /** @type {number[]} */
    this.tops = [];
    this.place();
  }

  get lines() {
    return this.tops[this.items.length];
  }

  /** Anew after folds or columns changed. */
  place() {
    const { total, folds } = this.rows;
    const items = [];
    let row = 0;
    for (let n = 0; n <= folds.length; n += 1) {
      const [start, length] = n < folds.length ? folds[n] : [total, 0];
      const end = n < folds.length && this.opened.has(n) ? start + length : start;
      while (row < end) items.push(row++);
      if (n < folds.length && end === start) items.push(-1 - n);
      row = start + length;
    }
    const tops = new Array(items.length + 1);
    let top = 0;
    for (let i = 0; i < items.length; i += 1) {
      tops[i] = top;
      top += this.linesOf(items[i]);
    }
    tops[items.length] = top;
    this.items = items;
    this.tops = tops;
  }

  /**
   * Lines that an item takes.
   * @param {number} item
   */
  linesOf(item) {
    if (this.columns === 2 || item < 0) return 1;
    const before = this.rows.before[item];
    const after = this.rows.after[item];
    if (before === " " || after === " ") return 1;
    return before === after && "Hsr".includes(before) ? 1 : 2;
  }

  /**
   * The position of the item at a line.
   * @param {number} line
   */
  positionAt(line) {
    return Math.max(0, lastNotAbove(this.tops, line, this.items.length));
  }

  /**
   * The position of the item that shows a row, or of the fold that hides it.
   * @param {number} row
   */
  positionOf(row) {
    let low = 0;
    let high = this.items.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.rowOf(this.items[middle]) <= row) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  /**
   * The first row of an item.
   * @param {number} item
   */
  rowOf(item) {
    return item < 0 ? this.rows.folds[-1 - item][0] : item;
  }

  /**
   * Opens the fold that hides a row; whether there was one.
   * @param {number} row
   */
  reveal(row) {
    const item = this.items[this.positionOf(row)];
    if (item === undefined || item >= 0) return false;
    this.opened.add(-1 - item);
    this.place();
    return true;
  }

  /**
   * The fold that a row belongs to, open or closed; -1 for none.
   * @param {number} row
   */
  foldOf(row) {
    return this.rows.folds.findIndex(([start, length]) => start <= row && row < start + length);
  }

  /** @param {number} row */
  isEdited(row) {
    return EDITED.includes(this.rows.before[row]) || EDITED.includes(this.rows.after[row]);
  }

  /**
   * The first row of the next run of edited rows that are not folded away; null where none is.
   * @param {number} row from which to look, -1 for the top
   * @param {1 | -1} step
   */
  nextChange(row, step) {
    const edited = (/** @type {number} */ at) => {
      const item = this.items[at];
      return item !== undefined && item >= 0 && this.isEdited(item);
    };
    let at = row < 0 ? -1 : this.positionOf(row);
    if (step > 0) {
      while (at >= 0 && edited(at)) at += 1;
      at = Math.max(at, 0);
      while (at < this.items.length && !edited(at)) at += 1;
    } else {
      // Within a run of changes its own start comes first.
      at -= 1;
      while (at >= 0 && !edited(at)) at -= 1;
      while (at > 0 && edited(at - 1)) at -= 1;
    }
    return edited(at) ? this.items[at] : null;
  }
}

/**
 * @param {number[]} values rising
 * @param {number} value
 * @param {number} count of the values
 */
function lastNotAbove(values, value, count) {
  let low = 0;
  let high = count - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (values[middle] <= value) low = middle;
    else high = middle - 1;
  }
  return low;
}

/**
 * Numbers as runs: `3-20,44`.
 * @param {number[]} rows rising
 */
export function runsText(rows) {
  const runs = [];
  for (let i = 0; i < rows.length; ) {
    let end = i;
    while (end + 1 < rows.length && rows[end + 1] === rows[end] + 1) end += 1;
    runs.push(end > i ? `${rows[i]}-${rows[end]}` : `${rows[i]}`);
    i = end + 1;
  }
  return runs.join(",");
}
