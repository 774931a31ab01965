import assert from "node:assert/strict";
import { test } from "node:test";

import { firstScale, firstShown, nextBox, scaleToFit } from "../../static/js/graph_steps.js";

const places = [{ x: 50, y: 0 }, { x: 0, y: 90 }, { x: 120, y: 90 }, { x: 200, y: 90 }];
const edges = [{ from: 0, to: 1 }, { from: 0, to: 2 }];

test("arrows go along edges and layers, to the nearest", () => {
  assert.equal(nextBox("ArrowDown", 0, places, edges), 1);
  assert.equal(nextBox("ArrowUp", 2, places, edges), 0);
  assert.equal(nextBox("ArrowRight", 1, places, edges), 2);
  assert.equal(nextBox("ArrowLeft", 3, places, edges), 2);
});

test("where nothing is, and for other keys, it stays", () => {
  assert.equal(nextBox("ArrowUp", 0, places, edges), null);
  assert.equal(nextBox("ArrowLeft", 1, places, edges), null);
  assert.equal(nextBox("Tab", 0, places, edges), null);
  assert.equal(nextBox("constructor", 0, places, edges), null);
});

test("a drawing fits its frame and is never blown up", () => {
  assert.equal(scaleToFit(1000, 100, 500, 500), 0.5);
  assert.equal(scaleToFit(100, 100, 500, 500), 1.25);
  assert.equal(scaleToFit(0, 0, 500, 500), 1);
});

test("it begins at the chosen box, else where something is sent, repeated or computed", () => {
  const kinds = ["node kind-parameter", "node kind-fusion", "node kind-heavy state-added"];
  assert.equal(firstShown(0, kinds), 0);
  assert.equal(firstShown(-1, kinds), 2);
  assert.equal(firstShown(-1, ["node kind-constant"]), 0);
});

test("all is shown at first, unless nothing could be read", () => {
  assert.equal(firstScale(0.9), 0.9);
  assert.equal(firstScale(0.1), 0.8);
});
