// @ts-check
/** The landing page's list of reports that this browser has seen lately. */

import { one } from "./elements.js";
import { partsOf } from "./landing_row.js";
import { readSeen, writeSeen } from "./landing_storage.js";

/** @typedef {import("./landing_list.js").Seen} Seen */

/** Shows the list, and empties it when asked. */
export function startRecent() {
  show(readSeen());
  one("[data-forget]", HTMLButtonElement).addEventListener("click", () => {
    writeSeen([]);
    show([]);
    one("[data-choose-archive]", HTMLButtonElement).focus();
  });
}

/** @param {readonly Seen[]} list */
function show(list) {
  one("[data-recent]", HTMLElement).hidden = !list.length;
  one("[data-recent-list]", HTMLElement).replaceChildren(...list.map(row));
}

/** @param {Seen} seen */
function row(seen) {
  const item = document.createElement("li");
  item.append(...partsOf(seen));
  return item;
}
