// @ts-check
/**
 * Moving about in a drawn graph: drag, zoom, arrow keys along its lines, saving it as SVG or PNG.
 * The page is whole without it: boxes are links and the frame scrolls.
 */

import { firstScale, firstShown, nextBox, scaleToFit } from "./graph_steps.js";
import { one } from "./elements.js";
import { followKey, isForThePage } from "./keys.js";

const MIN_SCALE = 0.1;
const MAX_SCALE = 4;
const KEY_ZOOM = 1.25;
const DRAG_PIXELS = 4;
// What of the style a saved file needs; sizes and places are attributes already.
const SAVED = [
  "fill", "stroke", "stroke-width", "stroke-dasharray", "text-anchor", "font-family", "font-size",
];
const MAX_PNG_SIDE = 8000;

const frame = one("#graph-box", HTMLElement);
const said = one("#graph-said", HTMLElement);
const svg = /** @type {SVGSVGElement} */ (/** @type {unknown} */ (document.getElementById("graph")));
const boxes = /** @type {SVGAElement[]} */ ([...svg.querySelectorAll("a.box")]);
const edges = [...svg.querySelectorAll("path.edge")].map((path) => ({
  path,
  from: Number(path.getAttribute("data-from")),
  to: Number(path.getAttribute("data-to")),
}));
const places = boxes.map((box) => {
  const rect = /** @type {SVGRectElement} */ (box.querySelector("rect"));
  const at = /** @type {(name: string) => number} */ ((name) => Number(rect.getAttribute(name)));
  return { x: at("x") + at("width") / 2, y: at("y") + at("height") / 2 };
});
const { width, height } = svg.viewBox.baseVal;
let scale = 1;

/**
 * @param {number} wanted
 * @param {{x: number, y: number}} [at] what stays in place, in pixels of the frame
 */
function zoom(wanted, at = { x: frame.clientWidth / 2, y: frame.clientHeight / 2 }) {
  const next = Math.min(MAX_SCALE, Math.max(MIN_SCALE, wanted));
  const x = (frame.scrollLeft + at.x) / scale;
  const y = (frame.scrollTop + at.y) / scale;
  svg.setAttribute("width", String(width * next));
  svg.setAttribute("height", String(height * next));
  scale = next;
  frame.scrollLeft = x * next - at.x;
  frame.scrollTop = y * next - at.y;
}

/** @param {number} position */
function show(position) {
  frame.scrollLeft = places[position].x * scale - frame.clientWidth / 2;
  frame.scrollTop = places[position].y * scale - frame.clientHeight / 2;
}

function fit() {
  zoom(scaleToFit(width, height, frame.clientWidth, window.innerHeight * 0.7));
}

/** @param {number} position */
function light(position) {
  for (const { path, from, to } of edges) {
    path.classList.toggle("lit", from === position || to === position);
  }
}

/** @param {number} position */
function stop(position) {
  for (const [index, box] of boxes.entries()) {
    box.setAttribute("tabindex", index === position ? "0" : "-1");
  }
}

/** @param {KeyboardEvent} event */
function pressed(event) {
  if (followKey(event) || !isForThePage(event)) return;
  const steps = { "+": KEY_ZOOM, "=": KEY_ZOOM, "-": 1 / KEY_ZOOM };
  const step = steps[/** @type {keyof typeof steps} */ (event.key)];
  if (step) {
    zoom(scale * step);
    event.preventDefault();
  } else if (event.key === "0") {
    fit();
  }
  const here = boxes.findIndex((box) => box === document.activeElement);
  if (here < 0) return;
  if (event.key === "e") {
    const more = boxes[here].parentElement?.querySelector("a.more");
    if (more instanceof SVGAElement) location.assign(more.href.baseVal);
  }
  const next = nextBox(event.key, here, places, edges);
  if (next === null) return;
  event.preventDefault();
  stop(next);
  boxes[next].focus({ preventScroll: true });
  show(next);
}

function listenToPointers() {
  /** @type {Map<number, {x: number, y: number}>} */
  const down = new Map();
  let moved = 0;
  let apart = 0;
  const spread = () => {
    const [a, b] = [...down.values()];
    return Math.hypot(a.x - b.x, a.y - b.y);
  };
  frame.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    down.set(event.pointerId, { x: event.clientX, y: event.clientY });
    moved = 0;
    if (down.size === 2) apart = spread();
  });
  addEventListener("pointermove", (event) => {
    const before = down.get(event.pointerId);
    if (!before) return;
    down.set(event.pointerId, { x: event.clientX, y: event.clientY });
    moved += Math.abs(event.clientX - before.x) + Math.abs(event.clientY - before.y);
    if (down.size === 2) {
      const now = spread();
      if (apart) zoom((scale * now) / apart);
      apart = now;
    } else if (event.pointerType === "mouse" && moved > DRAG_PIXELS) {
      frame.classList.add("dragging");
      frame.scrollLeft -= event.clientX - before.x;
      frame.scrollTop -= event.clientY - before.y;
    }
  });
  for (const name of ["pointerup", "pointercancel"]) {
    addEventListener(name, (event) => {
      down.delete(/** @type {PointerEvent} */ (event).pointerId);
      frame.classList.remove("dragging");
    });
  }
  // The end of a drag is no click on the box below it.
  frame.addEventListener("click", (event) => moved > DRAG_PIXELS && event.preventDefault(), true);
  frame.addEventListener("dragstart", (event) => event.preventDefault());
  frame.addEventListener(
    "wheel",
    (event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      const edge = frame.getBoundingClientRect();
      const at = { x: event.clientX - edge.left, y: event.clientY - edge.top };
      zoom(scale * Math.exp(-event.deltaY / 300), at);
    },
    { passive: false },
  );
}

/** The drawing as a file of its own: styles as attributes, no links. */
function standalone() {
  const copy = /** @type {SVGSVGElement} */ (svg.cloneNode(true));
  const styled = [...svg.querySelectorAll("rect, path, text")];
  for (const [index, element] of [...copy.querySelectorAll("rect, path, text")].entries()) {
    const style = getComputedStyle(styled[index]);
    for (const name of SAVED) element.setAttribute(name, style.getPropertyValue(name));
    element.removeAttribute("class");
  }
  for (const more of copy.querySelectorAll("a.more")) more.remove();
  for (const link of copy.querySelectorAll("a")) link.replaceWith(...link.childNodes);
  const ground = document.createElementNS(svg.namespaceURI, "rect");
  ground.setAttribute("width", "100%");
  ground.setAttribute("height", "100%");
  ground.setAttribute("fill", getComputedStyle(frame).backgroundColor);
  copy.prepend(ground);
  copy.setAttribute("width", String(width));
  copy.setAttribute("height", String(height));
  return new XMLSerializer().serializeToString(copy);
}

/**
 * @param {string} name
 * @param {Blob} data
 */
function save(name, data) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(data);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

async function savePng() {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(standalone())}`;
  await image.decode();
  const factor = Math.min(2, MAX_PNG_SIDE / Math.max(width, height));
  const canvas = document.createElement("canvas");
  canvas.width = Math.ceil(width * factor);
  canvas.height = Math.ceil(height * factor);
  canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
  canvas.toBlob((data) => data && save("graph.png", data), "image/png");
}

function offerTools() {
  const tools = one("#graph-tools", HTMLElement);
  tools.hidden = false;
  one("#graph-keys", HTMLElement).hidden = false;
  tools.addEventListener("click", (event) => {
    const button = /** @type {HTMLElement} */ (event.target);
    const { zoom: how, save: kind } = button.dataset;
    if (how === "fit") fit();
    else if (how) zoom(scale * (how === "in" ? KEY_ZOOM : 1 / KEY_ZOOM));
    if (kind === "svg") save("graph.svg", new Blob([standalone()], { type: "image/svg+xml" }));
    if (kind === "png") {
      savePng().catch(() => {
        said.textContent = "The browser could not draw the PNG; the SVG holds the same.";
      });
    }
  });
}

offerTools();
listenToPointers();
addEventListener("keydown", pressed);
frame.addEventListener("focusin", (event) => {
  const at = boxes.findIndex((box) => box === event.target);
  if (at >= 0) light(at);
});
frame.addEventListener("pointerover", (event) => {
  const box = /** @type {Element} */ (event.target).closest("a.box");
  if (box) light(boxes.findIndex((each) => each === box));
});
if (boxes.length) {
  const kinds = boxes.map((box) => box.parentElement?.classList.value ?? "");
  const current = firstShown(boxes.findIndex((box) => box.hasAttribute("aria-current")), kinds);
  stop(current);
  zoom(firstScale(scaleToFit(width, height, frame.clientWidth, window.innerHeight * 0.7)));
  show(current);
}
