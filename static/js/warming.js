// @ts-check
/**
 * Asks the server for two texts side by side before they are opened: matching large texts takes it
 * up to half a second, which is then over before the click. That is done where the pointer or the
 * focus rests on a link to them.
 */

import { rowsAddress } from "./warming_address.js";

const REST_MS = 60;

/** Pairs that were asked for; the server keeps them for a while. */
const asked = new Set();
let isAsking = false;
let rest = 0;

/**
 * One at a time: nobody else waits long for the server.
 * @param {string | null} address
 */
async function ask(address) {
  if (!address || isAsking || asked.has(address)) return;
  isAsking = true;
  asked.add(address);
  // Whether it went well is told by the page itself, when it is opened.
  await fetch(address, { priority: "low" }).catch(() => null);
  isAsking = false;
}

/** @param {Event} event */
function rested(event) {
  clearTimeout(rest);
  const link = /** @type {Element} */ (event.target).closest?.("a[href*='/diff?']");
  if (!(link instanceof HTMLAnchorElement)) return;
  rest = setTimeout(() => ask(rowsAddress(link.href)), REST_MS);
}

for (const kind of ["pointerover", "focusin"]) addEventListener(kind, rested, { passive: true });
