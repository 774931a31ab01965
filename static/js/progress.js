// @ts-check
/**
 * The page of an analysis that is not over: follows it by server-sent events, or by asking again
 * and again where these do not come through, and loads the report when it is there.
 */

import { countWhenOver, stateOf } from "./upload_stages.js";

/**
 * @typedef {{stage: string, done: number, total: number | null, words: string,
 *   first: string[]}} Progress
 * @typedef {{state: string, progress: Progress | null}} State
 */

const POLL_MS = 2000;
const MAX_FAILURES = 15;

const data = JSON.parse(document.getElementById("page-data")?.textContent ?? "{}");
const bar = /** @type {HTMLProgressElement} */ (document.querySelector("[data-bar]"));
const words = /** @type {HTMLElement} */ (document.querySelector("[data-words]"));
const spoken = /** @type {HTMLElement} */ (document.querySelector("[data-spoken]"));
const trouble = /** @type {HTMLElement} */ (document.querySelector("[data-trouble]"));

let stage = "";
let failures = 0;

/**
 * Shows a state; true when it is the last one.
 * @param {State} state
 */
function show(state) {
  trouble.hidden = true;
  if (!state.progress) {
    location.reload();
    return true;
  }
  const { progress } = state;
  words.textContent = progress.words;
  if (progress.total) bar.value = progress.done / progress.total;
  else bar.removeAttribute("value");
  showStages(state.state === "running" ? progress : null);
  showFirst(progress.first);
  // Counts change many times a second; only a new stage is read out.
  if (progress.stage !== stage) {
    stage = progress.stage;
    spoken.textContent = progress.words;
  }
  return false;
}

const rows = /** @type {HTMLElement[]} */ ([...document.querySelectorAll("[data-stage]")]);

/** @param {Progress | null} progress null while the analysis waits */
function showStages(progress) {
  const keys = rows.map((row) => row.dataset.stage ?? "");
  for (const [position, row] of rows.entries()) {
    const now = stateOf(position, keys, progress?.stage ?? null);
    row.dataset.state = now;
    row.toggleAttribute("aria-current", false);
    const count = row.querySelector("[data-count]");
    if (now === "done" && count) count.textContent = countWhenOver(count.textContent ?? "");
    if (now !== "now" || !progress) continue;
    row.setAttribute("aria-current", "step");
    const { done, total } = progress;
    const of = total ? ` of ${total.toLocaleString("en")}` : "";
    // What a stage counted last stays beside it.
    if (count && (done || total)) count.textContent = `${done.toLocaleString("en")}${of}`;
  }
}

/** @param {readonly string[]} first sentences that can be told already */
function showFirst(first) {
  const section = /** @type {HTMLElement} */ (document.querySelector("[data-first]"));
  const list = /** @type {HTMLElement} */ (document.querySelector("[data-first-list]"));
  if (list.childElementCount === first.length) return;
  section.hidden = !first.length;
  list.replaceChildren(
    ...first.map((words) => {
      const item = document.createElement("li");
      item.textContent = words;
      return item;
    }),
  );
}

function follow() {
  const source = new EventSource(data.events);
  source.addEventListener("state", (event) => {
    failures = 0;
    if (show(JSON.parse(event.data))) source.close();
  });
  source.onerror = () => {
    source.close();
    poll();
  };
}

async function poll() {
  try {
    const answer = await fetch(data.poll, { headers: { accept: "application/json" } });
    // Whoever had it is told that it is gone.
    if (answer.status === 404 || answer.status === 410) {
      location.reload();
      return;
    }
    if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
    failures = 0;
    if (show(await answer.json())) return;
  } catch {
    failures += 1;
    trouble.textContent =
      failures < MAX_FAILURES
        ? "The server does not answer; trying again."
        : "The server does not answer. Load the page again later; the link stays the same.";
    trouble.hidden = false;
    if (failures >= MAX_FAILURES) return;
  }
  setTimeout(poll, POLL_MS);
}

show(data.state);
follow();
