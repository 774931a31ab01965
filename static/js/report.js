// @ts-check
/**
 * What a report page does in the browser besides being read: copying the Markdown summary, folding
 * long tables, opening what a link points into. Imports nothing, so that the offline page can hold
 * it as it stands. The page is complete without it.
 */

/** @typedef {{markdown: string, thread: string, figures: object[], passes: object | null}} PageData */

/** How long a button says what came of it. */
const TOLD_MS = 2_000;

/**
 * The page's data, or null where the page has none.
 * @returns {PageData | null}
 */
function readData() {
  const element = document.getElementById("report-data");
  return element?.textContent ? JSON.parse(element.textContent) : null;
}

/**
 * Copies text by the clipboard API or, where a page from disk has none, by a selection.
 * @param {string} text
 * @returns {Promise<boolean>} whether it was copied
 */
async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = document.createElement("textarea");
    area.value = text;
    area.setAttribute("readonly", "");
    document.body.append(area);
    area.select();
    const copied = document.execCommand("copy");
    area.remove();
    return copied;
  }
}

/**
 * Has a button copy a text. The address of a copy made for sharing goes behind the first line; that
 * of a private report is a secret.
 * @param {string} id
 * @param {string} text
 */
function offerCopy(id, text) {
  const button = document.getElementById(id);
  const status = document.getElementById("copy-status");
  if (!button || !status || !text) return;
  button.hidden = false;
  button.addEventListener("click", async () => {
    const address = document.querySelector("[data-shared]")
      ? `\n\n<${location.origin}${location.pathname}>`
      : "";
    const copied = await copyText(text.replace("\n", () => `${address}\n`));
    status.textContent = copied ? "Copied." : "The browser refused to copy.";
  });
}

/** The address of the report itself: what is chosen in the page is not meant. */
function offerLink() {
  const button = document.getElementById("copy-link");
  const status = document.getElementById("copy-status");
  if (!button || !status) return;
  button.hidden = false;
  button.addEventListener("click", async () => {
    const copied = await copyText(location.origin + location.pathname);
    status.textContent = copied ? "Copied." : "The browser refused to copy.";
  });
}

/** Flags are copied one by one, each by the button behind it, which says what came of it. */
function offerFlags() {
  const status = document.getElementById("copy-status");
  for (const button of document.querySelectorAll("button.copies")) {
    const flag = button.parentElement?.querySelector("code")?.textContent;
    if (!flag || !(button instanceof HTMLElement)) continue;
    button.hidden = false;
    const label = button.textContent;
    button.addEventListener("click", async () => {
      const copied = await copyText(flag);
      button.textContent = copied ? "Copied" : "Refused";
      if (status) status.textContent = copied ? `Copied ${flag}` : "The browser refused to copy.";
      setTimeout(() => (button.textContent = label), TOLD_MS);
    });
  }
}

/** Folds the rows that a table shows only when asked, and unfolds them on a click. */
function foldTables() {
  for (const button of document.querySelectorAll("button[aria-controls]")) {
    const id = button.getAttribute("aria-controls");
    const rows = id ? document.getElementById(id) : null;
    if (!rows || !(button instanceof HTMLElement)) continue;
    rows.hidden = true;
    button.hidden = false;
    button.setAttribute("aria-expanded", "false");
    button.addEventListener("click", () => {
      rows.hidden = false;
      button.hidden = true;
    });
  }
}

/** The element that the address points to; none where it was cut within an escape. */
function targetOfAddress() {
  try {
    return document.getElementById(decodeURIComponent(location.hash.slice(1)));
  } catch {
    return null;
  }
}

/** Opens the folded parts around the element that the address points to. */
function openTarget() {
  const target = targetOfAddress();
  if (!target) return;
  /** @type {Element | null} */
  let element = target;
  while (element) {
    if (element instanceof HTMLDetailsElement) element.open = true;
    element = element.parentElement;
  }
  const part = target.querySelector(":scope > details.part");
  if (part instanceof HTMLDetailsElement) part.open = true;
  target.scrollIntoView();
}

const data = readData();
if (data) {
  offerCopy("copy-markdown", data.markdown);
  offerCopy("copy-thread", data.thread);
}
offerLink();
offerFlags();
foldTables();
openTarget();
addEventListener("hashchange", openTarget);
