// @ts-check
/**
 * The page of an analysis that is not over: follows it by server-sent events, or by asking again
 * and again where these do not come through, and loads the report when it is there.
 */

/**
 * @typedef {{state: string, progress: {stage: string, done: number, total: number | null,
 *   words: string} | null}} State
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
  // Counts change many times a second; only a new stage is read out.
  if (progress.stage !== stage) {
    stage = progress.stage;
    spoken.textContent = progress.words;
  }
  return false;
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
    if (answer.status === 404) {
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
