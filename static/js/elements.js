// @ts-check
/** Finding elements of a page, or saying which is missing. */

/**
 * The one element for `selector`, which the page has.
 * @template {HTMLElement} T
 * @param {string} selector
 * @param {new () => T} kind
 * @returns {T}
 */
export function one(selector, kind) {
  const element = document.querySelector(selector);
  if (!(element instanceof kind)) throw new Error(`${selector} is missing`);
  return element;
}
