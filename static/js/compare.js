// @ts-check
/** On the page that asks which reports to compare: offers those that this browser has seen lately. */

import { one } from "./elements.js";
import { partsOf } from "./landing_row.js";
import { readSeen } from "./landing_storage.js";

/** @typedef {import("./landing_list.js").Seen} Seen */

/**
 * A report, and a button for each side that puts it there.
 * @param {Seen} seen
 */
function row(seen) {
  const item = document.createElement("li");
  const parts = partsOf(seen);
  const told = parts.map((part) => part.textContent).join(", ");
  const choosers = document.createElement("span");
  choosers.className = "seen-sides";
  choosers.append(...["a", "b"].map((side) => chooser(side, seen.url, told)));
  item.append(...parts, choosers);
  return item;
}

/**
 * @param {string} side
 * @param {string} url
 * @param {string} name
 */
function chooser(side, url, name) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "quiet";
  button.textContent = `As ${side}`;
  button.setAttribute("aria-label", `As ${side}: ${name}`);
  button.addEventListener("click", () => {
    one(`#report-${side}`, HTMLInputElement).value = new URL(url, location.href).href;
  });
  return button;
}

const seen = readSeen();
one("[data-seen]", HTMLElement).hidden = !seen.length;
one("[data-seen-list]", HTMLElement).replaceChildren(...seen.map(row));
