// @ts-check
/** The page of loops: keys that step from loop to loop and rewrite to rewrite, sorted tables. */

import { isForThePage } from "./keys.js";
import { startTables } from "./tables.js";

/** @type {Record<string, string>} */
const LINKS = {
  j: "later-loop",
  k: "earlier-loop",
  n: "later-rewrite",
  p: "earlier-rewrite",
  o: "whole-rewrite",
};

startTables();
addEventListener("keydown", (event) => {
  const id = LINKS[event.key];
  const link = id && isForThePage(event) ? document.getElementById(id) : null;
  if (!link) return;
  event.preventDefault();
  link.click();
});
