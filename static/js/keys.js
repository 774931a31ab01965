// @ts-check
/** The help on keys that every view has: opened by `?` or its button. */

/**
 * Whether a key pressed there is meant for the page and not for what the person writes or picks.
 * @param {KeyboardEvent} event
 */
export function isForThePage(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return false;
  if (document.querySelector("dialog[open]")) return false;
  const at = /** @type {Element | null} */ (event.target);
  return !at?.closest?.("input:not([type=range]), textarea, select, [contenteditable]");
}

/** @type {Record<string, string>} */
const LINKS = { "[": 'main a[rel="prev"]', "]": 'main a[rel="next"]' };

/**
 * Follows the link to the text before or after for `[` and `]`, puts the cursor into the search that
 * is marked with `data-key="/"`; whether there was anything to do.
 * @param {KeyboardEvent} event
 */
export function followKey(event) {
  if (!isForThePage(event)) return false;
  const link = LINKS[event.key] ? document.querySelector(LINKS[event.key]) : null;
  const search = event.key === "/" ? document.querySelector('[data-key="/"]') : null;
  if (link instanceof HTMLElement) link.click();
  if (search instanceof HTMLInputElement) search.select();
  if (!link && !search) return false;
  event.preventDefault();
  return true;
}

const help = document.getElementById("keys");
const button = document.getElementById("keys-button");
if (help instanceof HTMLDialogElement && button) {
  button.hidden = false;
  button.addEventListener("click", () => help.showModal());
  addEventListener("keydown", (event) => {
    if (event.key !== "?" || !isForThePage(event)) return;
    event.preventDefault();
    help.showModal();
  });
}
