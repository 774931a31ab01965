// @ts-check
/**
 * The page of collectives: arrow keys along the bars of a drawing, what a bar says in words below,
 * its row marked, the tables filtered and sorted. The page is whole without it.
 */

import { isForThePage } from "./keys.js";
import { startTables } from "./tables.js";

startTables();

const told = document.getElementById("bar-told");
const filter = document.getElementById("collective-filter");

/** @param {Element} bar */
function tell(bar) {
  for (const row of document.querySelectorAll("tr.lit")) row.classList.remove("lit");
  const href = bar.getAttribute("href") ?? "";
  document.getElementById(href.slice(1))?.classList.add("lit");
  if (!told) return;
  told.hidden = false;
  told.textContent = bar.querySelector("title")?.textContent ?? "";
}

for (const drawing of document.querySelectorAll(".schedule-drawing")) {
  const bars = /** @type {SVGAElement[]} */ ([...drawing.querySelectorAll("a.bar")]);
  // One stop for the tab key; the arrow keys go from there.
  bars.forEach((bar, position) => bar.setAttribute("tabindex", position ? "-1" : "0"));
  drawing.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[/** @type {KeyboardEvent} */ (event).key];
    const here = bars.findIndex((bar) => bar === document.activeElement);
    const next = here < 0 || !step ? undefined : bars[here + step];
    if (!next) return;
    event.preventDefault();
    bars[here].setAttribute("tabindex", "-1");
    next.setAttribute("tabindex", "0");
    next.focus();
  });
  for (const kind of ["focusin", "pointerover"]) {
    drawing.addEventListener(kind, (event) => {
      const bar = /** @type {Element} */ (event.target).closest("a.bar");
      if (bar) tell(bar);
    });
  }
}

if (filter instanceof HTMLInputElement) {
  const field = filter.closest("label");
  if (field) field.hidden = false;
  filter.addEventListener("input", () => {
    const word = filter.value.trim().toLowerCase();
    for (const group of document.querySelectorAll(".collective-group")) {
      let shown = 0;
      for (const row of group.querySelectorAll("tbody tr")) {
        const fits = (row.textContent ?? "").toLowerCase().includes(word);
        row.toggleAttribute("hidden", !fits);
        shown += Number(fits);
      }
      group.toggleAttribute("hidden", !shown);
    }
  });
  addEventListener("keydown", (event) => {
    if (event.key !== "f" || !isForThePage(event)) return;
    event.preventDefault();
    filter.focus();
  });
}
