// @ts-check
/** The landing page's list of reports that this browser has seen lately. */

import { one } from "./elements.js";
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
function row({ url, name, when }) {
  const item = document.createElement("li");
  const link = document.createElement("a");
  link.href = url;
  link.textContent = name || "A report";
  const time = document.createElement("time");
  time.dateTime = new Date(when).toISOString();
  time.textContent = new Date(when).toLocaleString(undefined, {
    dateStyle: "medium",
    timeStyle: "short",
  });
  item.append(link, time);
  return item;
}
