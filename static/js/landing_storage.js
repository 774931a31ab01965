// @ts-check
/** Keeps the list of reports seen lately in this browser; a browser that keeps nothing is no fault. */

import { seenFrom } from "./landing_list.js";

/** @typedef {import("./landing_list.js").Seen} Seen */

const KEY = "hloscope.seen";

/** @returns {Seen[]} */
export function readSeen() {
  try {
    return seenFrom(localStorage.getItem(KEY));
  } catch {
    // Storage is switched off.
    return [];
  }
}

/** @param {readonly Seen[]} list */
export function writeSeen(list) {
  try {
    localStorage.setItem(KEY, JSON.stringify(list));
  } catch {
    // Storage is switched off, or full: the list is a convenience.
  }
}
