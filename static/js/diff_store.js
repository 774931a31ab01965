// @ts-check
/** The texts of rows, fetched a batch at a time when somebody wants to see them, and kept for a while. */

import { runsText } from "./diff_rows.js";

/** @typedef {import("./diff_pieces.js").Row} Row */

const BATCH_ROWS = 300;
const BATCH_CHARACTERS = 4000;
const KEPT_ROWS = 8000;
const PAUSE_MS = 25;

/**
 * @param {string} address
 * @returns {Promise<any>}
 */
export async function fetched(address) {
  const answer = await fetch(address, { headers: { accept: "application/json" } });
  if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
  return answer.json();
}

/** Rows by number. */
export class RowStore {
  /**
   * @param {string} address of the rows, with the pair of texts in its query
   * @param {(problem: string) => void} arrived called after each batch; "" where all is well
   */
  constructor(address, arrived) {
    this.address = address;
    this.arrived = arrived;
    /** @type {Map<number, Row>} */
    this.rows = new Map();
    /** @type {number[]} */
    this.wanted = [];
    this.busy = false;
    this.timer = 0;
  }

  /** @param {number} row */
  get(row) {
    return this.rows.get(row);
  }

  /**
   * Says which rows are of interest now; what was wanted before and did not come is forgotten.
   * @param {number[]} rows rising
   */
  want(rows) {
    this.wanted = rows.filter((row) => !this.rows.has(row));
    if (!this.wanted.length || this.busy || this.timer) return;
    this.timer = window.setTimeout(() => {
      this.timer = 0;
      this.load();
    }, PAUSE_MS);
  }

  /**
   * One row with all of its text.
   * @param {number} row
   * @returns {Promise<Row>}
   */
  async whole(row) {
    const [found] = await fetched(`${this.address}&rows=${row}&whole=true`);
    return found;
  }

  async load() {
    let batch = this.wanted.slice(0, BATCH_ROWS);
    let names = runsText(batch);
    while (names.length > BATCH_CHARACTERS) {
      batch = batch.slice(0, batch.length >> 1);
      names = runsText(batch);
    }
    if (!batch.length) return;
    this.busy = true;
    let problem = "";
    try {
      for (const row of await fetched(`${this.address}&rows=${names}`)) this.keep(row);
    } catch (error) {
      problem = error instanceof Error ? error.message : String(error);
    }
    this.busy = false;
    this.arrived(problem);
    // After a failure the next scrolling asks again.
    if (!problem) this.want(this.wanted);
  }

  /** @param {Row} row */
  keep(row) {
    if (this.rows.size >= KEPT_ROWS) {
      const [oldest] = this.rows.keys();
      this.rows.delete(oldest);
    }
    this.rows.set(row.row, row);
  }
}
