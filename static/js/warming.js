// @ts-check
/**
 * Asks the server for two texts side by side as soon as the pointer or the focus rests on the link
 * to them: matching large texts takes it up to a second, which is then over before the click.
 */

import { rowsAddress } from "./warming_address.js";

const REST_MS = 80;

/** Pairs that were asked for; the server keeps them for a while. */
const asked = new Set();
let isAsking = false;
let rest = 0;

/** @param {string | null} address */
async function ask(address) {
  if (!address || asked.has(address) || isAsking) return;
  asked.add(address);
  isAsking = true;
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
