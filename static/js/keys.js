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
