// @ts-check
/**
 * Places of a report in the page's address: which module, which texts, which line.
 * Pure: knows no document. `#compare/MODULE/BEFORE/AFTER` and `#text/MODULE/TEXT/LINE` hold the
 * position of the module in the report, positions of its texts, and a 1-based line.
 */

/**
 * @typedef {{position: number, id: string, name: string, texts: string[],
 *   changed?: number[]}} ModuleTexts `changed`: positions of texts that differ from the one before
 * @typedef {{base: string, modules: ModuleTexts[]}} PassData
 */

export const LINES_SHOWN = 60;

/**
 * The pair that an address names: `#compare/0/5/6`.
 * @param {string} hash
 * @returns {{module: number, before: number, after: number} | null}
 */
export function comparePlace(hash) {
  const found = /^#compare\/(\d{1,6})\/(\d{1,6})\/(\d{1,6})$/.exec(hash);
  if (!found) return null;
  return { module: Number(found[1]), before: Number(found[2]), after: Number(found[3]) };
}

/**
 * The line that an address names: `#text/0/72/919`.
 * @param {string} hash
 * @returns {{module: number, text: number, line: number} | null}
 */
export function textPlace(hash) {
  const found = /^#text\/(\d{1,6})\/(\d{1,6})\/(\d{1,10})$/.exec(hash);
  if (!found) return null;
  return { module: Number(found[1]), text: Number(found[2]), line: Math.max(1, Number(found[3])) };
}

/**
 * @param {PassData} data
 * @param {number} position
 */
export function moduleAt(data, position) {
  return data.modules.find((module) => module.position === position) ?? null;
}

/**
 * The address below which the server has a module's texts and differences.
 * @param {PassData} data
 * @param {ModuleTexts} module
 */
export function moduleAddress(data, module) {
  return `${data.base}/modules/${encodeURIComponent(module.id)}`;
}

/**
 * The first line of a window that has the line in its upper third.
 * @param {number} line
 */
export function firstLineFor(line) {
  return Math.max(1, line - Math.floor(LINES_SHOWN / 3));
}

/**
 * The address of the page that draws what is around a line of a text, changes of its pass marked.
 * @param {PassData} data
 * @param {ModuleTexts} module
 * @param {number} text
 * @param {number} line
 */
export function graphAddress(data, module, text, line) {
  const query = new URLSearchParams({ module: module.id, text: `${text}`, line: `${line}` });
  if (text > 0) query.set("against", `${text - 1}`);
  return `${data.base}/graph?${query}`;
}

/**
 * The text to compare with the one before it when none is named: the last that a pass changed.
 * @param {ModuleTexts} module with two texts at least
 */
export function lastChanged(module) {
  return module.changed?.at(-1) ?? module.texts.length - 1;
}
