// @ts-check
/**
 * The page of the user's program: keys that go from line to line, and tables that can be sorted.
 * The page is whole without it: lines are links.
 */

import { followKey, isForThePage } from "./keys.js";
import { nextLine } from "./source_steps.js";
import { startTables } from "./tables.js";

const links = /** @type {HTMLAnchorElement[]} */ ([
  ...document.querySelectorAll(".source-line > th a"),
]);
const rows = [...document.querySelectorAll(".source-line")];
const chosen = rows.findIndex((row) => row.classList.contains("here"));

/** The last link at or before what has the focus, or before the chosen line. */
function here() {
  const focused = links.findIndex((link) => link === document.activeElement);
  if (focused >= 0) return focused;
  return links.filter((link) => rows.findIndex((row) => row.contains(link)) < chosen).length - 1;
}

addEventListener("keydown", (event) => {
  if (followKey(event) || !isForThePage(event)) return;
  const next = nextLine(event.key, here(), links.length);
  if (next === null) return;
  event.preventDefault();
  links[next].focus({ preventScroll: true });
  links[next].scrollIntoView({ block: "center" });
});

startTables();
