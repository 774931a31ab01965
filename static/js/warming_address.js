// @ts-check
/** From the address of two texts side by side to that of their first row. Pure. */

/**
 * Null where the address names no two texts.
 * @param {string} href
 */
export function rowsAddress(href) {
  const url = new URL(href);
  const names = ["module", "a", "b"];
  if (!url.pathname.endsWith("/diff")) return null;
  const values = names.map((name) => url.searchParams.get(name));
  if (values.some((value) => value === null || value === "")) return null;
  const query = new URLSearchParams(names.map((name, n) => [name, values[n] ?? ""]));
  return `${url.pathname}/rows?${query}&rows=0`;
}
