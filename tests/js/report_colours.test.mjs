import assert from "node:assert/strict";
import { test } from "node:test";

import { colouredFigure } from "../../static/js/report_colours.js";

const FIGURE = {
  data: [
    { mode: "lines", meta: "chart-line", line: { width: 2 } },
    { mode: "markers", meta: "mark-minor", marker: { size: 6 } },
  ],
  layout: { height: 300, xaxis: { range: [0, 1] }, yaxis2: { domain: [0, 1] } },
};

test("traces take the colour that their meta names, and keep the rest", () => {
  const { data } = colouredFigure(FIGURE, (token) => `<${token}>`);
  assert.deepEqual(data[0].line, { width: 2, color: "<chart-line>" });
  assert.equal(data[1].marker.color, "<mark-minor>");
  assert.equal(data[1].marker.size, 6);
});

test("every axis gets the theme, the figure itself is left alone", () => {
  const before = structuredClone(FIGURE);
  const { layout } = colouredFigure(FIGURE, (token) => token);
  assert.equal(layout.xaxis.gridcolor, "chart-grid");
  assert.deepEqual(layout.yaxis2.domain, [0, 1]);
  assert.equal(layout.height, 300);
  assert.deepEqual(FIGURE, before);
});
