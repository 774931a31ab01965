// @ts-check
/**
 * The page of a module's memory: a pointer along the curve, by mouse, finger or keys, and tables
 * that can be sorted and filtered. The page is whole without it.
 */

import { one } from "./elements.js";
import { followKey, isForThePage } from "./keys.js";
import { nextPoint, pointAt, told } from "./memory_steps.js";
import { startTables } from "./tables.js";

/** @typedef {import("./memory_steps.js").Curve} Curve */

/** @param {Curve} curve */
function followCurve(curve) {
  const box = one("#curve-box", HTMLElement);
  const words = one("#curve-told", HTMLElement);
  const drawings = /** @type {SVGSVGElement[]} */ ([...box.querySelectorAll("svg")]);
  let here = nextPoint("p", false, 0, curve) ?? 0;

  /** @param {SVGSVGElement} svg */
  const sides = (svg) => [Number(svg.dataset.left), Number(svg.dataset.right)];

  /** @param {number} point */
  function show(point) {
    here = point;
    words.textContent = told(point, curve);
    for (const svg of drawings) {
      const [left, right] = sides(svg);
      const x = left + ((right - left) * (curve.at[point] + 0.5)) / curve.positions;
      const pointer = svg.querySelector(".pointer");
      pointer?.setAttribute("x1", String(x));
      pointer?.setAttribute("x2", String(x));
      pointer?.setAttribute("visibility", "visible");
    }
  }

  for (const svg of drawings) {
    svg.addEventListener("pointermove", (event) => {
      const [left, right] = sides(svg);
      const frame = svg.getBoundingClientRect();
      const x = ((event.clientX - frame.left) * svg.viewBox.baseVal.width) / frame.width;
      show(pointAt((x - left) / (right - left), curve));
    });
  }
  box.addEventListener("focus", () => show(here));
  box.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const next = nextPoint(event.key, event.shiftKey, here, curve);
    if (next === null) return;
    event.preventDefault();
    show(next);
  });
  addEventListener("keydown", (event) => {
    if (event.key !== "p" || !isForThePage(event)) return;
    box.focus();
    show(nextPoint("p", false, here, curve) ?? here);
  });
  words.hidden = false;
  one("#curve-keys", HTMLElement).hidden = false;
  show(here);
}

const { curve } = JSON.parse(one("#page-data", HTMLScriptElement).textContent ?? "");
if (curve) followCurve(curve);
addEventListener("keydown", followKey);
startTables();
