// @ts-check
/**
 * Draws the interactive figures of a report after the page is on the screen.
 *
 * The figures are plotly JSON made on the server; each stands in for the drawing that the page
 * already has, which stays where the bundle cannot be loaded. Colours are those of the theme.
 */

import { fittedFigure } from "./report_fit.js";

const BUNDLE = new URL("../vendor/plotly/plotly-basic.min.js", import.meta.url);

/** @returns {Promise<any>} the bundle's one global object */
function loadPlotly() {
  return new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = BUNDLE.href;
    script.addEventListener("load", () => resolve(Reflect.get(window, "Plotly")));
    script.addEventListener("error", () => reject(new Error("plotly was not loaded")));
    document.head.append(script);
  });
}

/** @param {string} name */
function tokenColour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

/**
 * @param {any} plotly
 * @param {any[]} figures
 */
async function drawAll(plotly, figures) {
  for (const [position, figure] of figures.entries()) {
    const place = document.getElementById(`figure-${position}`);
    if (!place) continue;
    const { data, layout } = fittedFigure(figure, tokenColour, place.clientWidth);
    let plot = place.querySelector(".plot");
    if (!plot) {
      plot = document.createElement("div");
      plot.className = "plot";
      place.append(plot);
    }
    await plotly.react(plot, data, layout, { displayModeBar: false, responsive: true });
    const drawing = place.querySelector(".drawing-box");
    drawing?.toggleAttribute("hidden", true);
    plot.dispatchEvent(new CustomEvent("drawn", { bubbles: true, detail: plotly }));
  }
}

/** @param {() => void} action */
function afterFirstPaint(action) {
  requestAnimationFrame(() => setTimeout(action, 0));
}

const element = document.getElementById("report-data");
const figures = element?.textContent ? JSON.parse(element.textContent).figures : [];
if (figures.length) {
  afterFirstPaint(async () => {
    const plotly = await loadPlotly();
    await drawAll(plotly, figures);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
      drawAll(plotly, figures);
    });
  });
}
