// @ts-check
/**
 * The page of passes: a scrubber and keys step from text to text, a line in the figure follows, a
 * click in the figure opens the pass. What is chosen stands in the address; from change to change
 * is a step that the way back takes again.
 */

import { one } from "./elements.js";
import { isForThePage } from "./keys.js";
import { nextIn } from "./passes_steps.js";

/**
 * @typedef {{name: string, facts: [string, string][], events: string[], diff: string,
 *   text: string, graph: string}} Pass
 * @typedef {{at: number, changed: number[], module: string, page: string, list: Pass[]}} Passes
 */

/** @type {Passes} */
const passes = JSON.parse(one("#report-data", HTMLElement).textContent ?? "").passes;
const scrub = one("#scrub", HTMLInputElement);
const figure = one("#figure-0", HTMLElement);
const STEPS = /** @type {const} */ ([["#earlier-change", -1], ["#later-change", 1]]);
/** @type {any} */
let plotly = null;
/** @type {HTMLElement | null} */
let plot = null;
let at = passes.at;
let asked = 0;

/**
 * @param {string} text
 * @param {string} href
 * @param {string} [className]
 */
function link(text, href, className = "") {
  const element = document.createElement("a");
  element.textContent = text;
  element.href = href;
  element.className = className;
  return element;
}

function drawLine() {
  asked = 0;
  if (!plotly || !plot) return;
  const colour = getComputedStyle(document.documentElement).getPropertyValue("--accent").trim();
  const line = { color: colour, width: 2, dash: "dot" };
  const shape = { type: "line", xref: "x", yref: "paper", x0: at, x1: at, y0: 0, y1: 1, line };
  plotly.relayout(plot, { shapes: [shape] });
}

/**
 * @param {number} index
 * @param {"step" | "slide" | "back"} [how] what becomes of the browser's history
 */
function choose(index, how = "slide") {
  at = Math.max(0, Math.min(passes.list.length - 1, index));
  const pass = passes.list[at];
  scrub.value = String(at);
  scrub.setAttribute("aria-valuetext", pass.name);
  one("#pass-name", HTMLElement).textContent = pass.name;
  const links = [link("text", pass.text), " ", link("graph", pass.graph)];
  if (pass.diff) links.unshift(link("What it changed", pass.diff, "button"), " ");
  one("#pass-links", HTMLElement).replaceChildren(...links);
  one("#pass-facts", HTMLElement).replaceChildren(
    ...pass.facts.map(([label, value]) => {
      const box = document.createElement("div");
      const term = document.createElement("dt");
      const told = document.createElement("dd");
      term.textContent = label;
      told.textContent = value;
      box.append(term, told);
      return box;
    }),
  );
  one("#pass-events", HTMLElement).replaceChildren(
    ...pass.events.map((event) => {
      const item = document.createElement("li");
      item.textContent = event;
      return item;
    }),
  );
  for (const row of document.querySelectorAll("tr.here")) row.classList.remove("here");
  document.getElementById(`pass-${at}`)?.classList.add("here");
  for (const [id, step] of STEPS) {
    one(id, HTMLElement).hidden = nextIn(passes.changed, at, step) === null;
  }
  one("#pass-said", HTMLElement).textContent = pass.name;
  const query = new URLSearchParams(location.search);
  query.set("module", passes.module);
  query.set("at", String(at));
  const address = `${passes.page}?${query}`;
  if (how === "step" && address !== `${location.pathname}${location.search}`) {
    history.pushState(null, "", address);
  } else if (how !== "back") {
    history.replaceState(null, "", address);
  }
  if (!asked) asked = requestAnimationFrame(drawLine);
}

function open() {
  const { diff } = passes.list[at];
  if (diff) location.assign(diff);
}

/** @type {Record<string, (how: "step" | "slide") => void>} */
const KEYS = {
  ArrowRight: () => choose(at + 1),
  ArrowLeft: () => choose(at - 1),
  n: (how) => choose(nextIn(passes.changed, at, 1) ?? at, how),
  j: (how) => choose(nextIn(passes.changed, at, 1) ?? at, how),
  p: (how) => choose(nextIn(passes.changed, at, -1) ?? at, how),
  k: (how) => choose(nextIn(passes.changed, at, -1) ?? at, how),
  o: open,
  Home: (how) => choose(0, how),
  End: (how) => choose(passes.list.length - 1, how),
};

addEventListener("keydown", (event) => {
  const target = /** @type {Element} */ (event.target);
  if (!isForThePage(event)) return;
  const isFree = target === document.body || target === scrub || target.id === "main";
  if (event.key === "Enter" && isFree) open();
  const action = KEYS[event.key];
  if (!action || target.closest(".table-box, .drawing-box")) return;
  event.preventDefault();
  // A key held down slides: it leaves one step behind, not one for each repeat.
  action(event.repeat ? "slide" : "step");
});
scrub.addEventListener("input", () => choose(Number(scrub.value)));
for (const [id, step] of STEPS) {
  one(id, HTMLElement).addEventListener("click", (event) => {
    const next = nextIn(passes.changed, at, step);
    event.preventDefault();
    if (next !== null) choose(next, "step");
  });
}
addEventListener("popstate", () => {
  const there = new URLSearchParams(location.search).get("at");
  choose(there === null ? passes.at : Number(there), "back");
});
figure.addEventListener("drawn", (event) => {
  plotly = /** @type {CustomEvent} */ (event).detail;
  const isNew = plot !== event.target;
  plot = /** @type {HTMLElement} */ (event.target);
  one("#plot-note", HTMLElement).hidden = false;
  if (isNew) {
    // What plotly adds to its element is no part of the browser's own types.
    /** @type {any} */ (plot).on("plotly_click", (/** @type {any} */ data) => {
      choose(data.points[0].x);
      open();
    });
  }
  drawLine();
});
one("#scrubber", HTMLElement).hidden = false;
choose(at);
