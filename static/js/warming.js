// @ts-check
/**
 * Asks the server for two texts side by side before they are opened: matching large texts takes it
 * up to a second, which is then over before the click. That is done where the pointer or the focus
 * rests on a link to them, and, once the page is at rest, for the few links that it marks
 * (`data-warm`) as those that take longest.
 */

import { rowsAddress } from "./warming_address.js";

const REST_MS = 80;
const SETTLED_MS = 700;

/** Pairs that were asked for; the server keeps them for a while. */
const asked = new Set();
let isAsking = false;
let rest = 0;

/** @param {string | null} address */
async function ask(address) {
  if (!address || asked.has(address)) return;
  asked.add(address);
  // Whether it went well is told by the page itself, when it is opened.
  await fetch(address, { priority: "low" }).catch(() => null);
}

/** @param {string | null} address */
async function askAlone(address) {
  if (isAsking) return;
  isAsking = true;
  await ask(address);
  isAsking = false;
}

/** @param {Event} event */
function rested(event) {
  clearTimeout(rest);
  const link = /** @type {Element} */ (event.target).closest?.("a[href*='/diff?']");
  if (!(link instanceof HTMLAnchorElement)) return;
  rest = setTimeout(() => askAlone(rowsAddress(link.href)), REST_MS);
}

/** One after the other, and none while the pointer asks: nobody else waits long for the server. */
async function askForMarked() {
  const links = /** @type {NodeListOf<HTMLAnchorElement>} */ (
    document.querySelectorAll("a[data-warm]")
  );
  for (const link of links) {
    do await new Promise((done) => setTimeout(done, SETTLED_MS));
    while (isAsking);
    if (document.hidden) return;
    await ask(rowsAddress(link.href));
  }
}

for (const kind of ["pointerover", "focusin"]) addEventListener(kind, rested, { passive: true });
askForMarked();
