// @ts-check
/** The landing page's list of reports that this browser has seen lately. */

import { one } from "./elements.js";
import { withoutSeen } from "./landing_list.js";
import { readSeen, writeSeen } from "./landing_storage.js";

/** @typedef {import("./landing_list.js").Seen} Seen */

/** Shows the list, and drops from it what is deleted meanwhile. */
export function startRecent() {
  show(readSeen());
  one("[data-forget]", HTMLButtonElement).addEventListener("click", () => {
    writeSeen([]);
    show([]);
    one("[data-choose-archive]", HTMLButtonElement).focus();
  });
  for (const { url } of readSeen()) dropIfGone(url);
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

/** @param {string} url */
async function dropIfGone(url) {
  try {
    // The state, which is answered with 200 for whatever is not gone, and never with an error page.
    const answer = await fetch(`/api/v1${url.replace("/r/", "/reports/")}`, { method: "GET" });
    if (answer.status !== 404) return;
  } catch {
    return;
  }
  const left = withoutSeen(readSeen(), url);
  writeSeen(left);
  show(left);
}
