import assert from "node:assert/strict";
import { test } from "node:test";

import {
  comparePlace,
  firstLineFor,
  graphAddress,
  lastChanged,
  moduleAddress,
  moduleAt,
  textPlace,
} from "../../static/js/report_places.js";

test("an address names a place only in its exact form", () => {
  assert.deepEqual(comparePlace("#compare/0/5/6"), { module: 0, before: 5, after: 6 });
  assert.deepEqual(textPlace("#text/2/5/919"), { module: 2, text: 5, line: 919 });
  assert.equal(textPlace("#text/2/5/0")?.line, 1);
  for (const tail of ["", "/0/5", "/0/5/6/7", "/a/5/6", "/0/-1/6", "/0/5/6 "]) {
    assert.equal(comparePlace(`#compare${tail}`), null);
    assert.equal(textPlace(`#text${tail}`), null);
  }
});

test("a module is found by its position and addressed by its id", () => {
  const data = { base: "/r/x", modules: [{ position: 7, id: "a/b?c#d", name: "f", texts: ["t"] }] };
  const module = moduleAt(data, 7);
  assert.ok(module);
  assert.equal(moduleAt(data, 0), null);
  assert.equal(moduleAddress(data, module), "/r/x/modules/a%2Fb%3Fc%23d");
});

test("a window begins some lines before the line that is meant", () => {
  assert.equal(firstLineFor(1), 1);
  assert.equal(firstLineFor(919), 899);
});

test("a graph marks what the pass of its text changed", () => {
  const data = { base: "/r/x", modules: [{ position: 0, id: "a&b", name: "f", texts: ["t", "u"] }] };
  const at = (text) => graphAddress(data, data.modules[0], text, 7);
  assert.equal(at(0), "/r/x/graph?module=a%26b&text=0&line=7");
  assert.equal(at(1), "/r/x/graph?module=a%26b&text=1&line=7&against=0");
});

test("a comparison opens on the last two texts that differ", () => {
  const module = { position: 0, id: "a", name: "f", texts: ["t", "u", "v", "w"] };
  assert.equal(lastChanged({ ...module, changed: [1, 2] }), 2);
  assert.equal(lastChanged({ ...module, changed: [] }), 3);
  assert.equal(lastChanged(module), 3);
});
