import assert from "node:assert/strict";
import { test } from "node:test";

import { fittedFigure, thinnedTicks } from "../../static/js/report_fit.js";

const FIGURE = {
  data: [
    { mode: "lines", meta: "chart-line", line: { width: 2 } },
    { mode: "markers", meta: "mark-minor", marker: { size: 6 } },
  ],
  layout: { height: 300, xaxis: { range: [0, 1] }, yaxis2: { domain: [0, 1] } },
};

test("traces take the colour that their meta names, and keep the rest", () => {
  const { data } = fittedFigure(FIGURE, (token) => `<${token}>`, 900);
  assert.deepEqual(data[0].line, { width: 2, color: "<chart-line>" });
  assert.equal(data[1].marker.color, "<mark-minor>");
  assert.equal(data[1].marker.size, 6);
});

test("every axis gets the theme, the figure itself is left alone", () => {
  const before = structuredClone(FIGURE);
  const { layout } = fittedFigure(FIGURE, (token) => token, 900);
  assert.equal(layout.xaxis.gridcolor, "chart-grid");
  assert.deepEqual(layout.yaxis2.domain, [0, 1]);
  assert.equal(layout.height, 300);
  assert.deepEqual(FIGURE, before);
});

test("labels that have no room are left out evenly", () => {
  const axis = { tickvals: [0, 10, 20, 30, 40, 50], ticktext: ["a", "b", "c", "d", "e", "f"] };
  assert.deepEqual(thinnedTicks(axis, 120).ticktext, ["a", "d"]);
  assert.deepEqual(thinnedTicks(axis, 900).ticktext, axis.ticktext);
  assert.deepEqual(thinnedTicks({ range: [0, 1] }, 10), { range: [0, 1] });
});
