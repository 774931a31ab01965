// @ts-check
/** A report that this browser has seen, in a list: its headline, its dump, and when it was seen. */

/**
 * @param {import("./landing_list.js").Seen} seen
 * @returns {HTMLElement[]}
 */
export function partsOf({ url, name, dump, when }) {
  const link = document.createElement("a");
  link.href = url;
  link.textContent = name || "A report";
  const from = document.createElement("span");
  from.className = "seen-dump";
  from.textContent = dump ?? "";
  const time = document.createElement("time");
  time.dateTime = new Date(when).toISOString();
  time.textContent = new Date(when).toLocaleString(undefined, {
    dateStyle: "medium",
    timeStyle: "short",
  });
  return dump ? [link, from, time] : [link, time];
}
