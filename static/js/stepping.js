// @ts-check
/** Goes from one marked place of a page to the next by keys, into what is folded as well. */

import { isForThePage } from "./keys.js";
import { nextLine } from "./source_steps.js";

const places = /** @type {HTMLElement[]} */ ([...document.querySelectorAll("[data-step]")]);

addEventListener("keydown", (event) => {
  if (!isForThePage(event)) return;
  const here = places.findIndex((place) => place === document.activeElement);
  const next = nextLine(event.key, here, places.length);
  if (next === null) return;
  event.preventDefault();
  /** @type {Element | null} */
  let around = places[next];
  while (around) {
    if (around instanceof HTMLDetailsElement) around.open = true;
    around = around.parentElement;
  }
  places[next].focus({ preventScroll: true });
  places[next].scrollIntoView({ block: "center" });
});
