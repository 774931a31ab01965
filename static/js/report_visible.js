// @ts-check
/** Text of a dump as a person may trust it. Pure: knows no document. */

// Control and format characters, among them those that turn the direction of writing, and the
// two line separators of Unicode: each would make a line read as another one.
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/gu;

/**
 * The text with characters that cannot be seen written out, as the server does in the page.
 * @param {string} text
 */
export function visible(text) {
  return text.replace(UNSEEN, (char) => {
    const code = /** @type {number} */ (char.codePointAt(0));
    const hex = code.toString(16);
    if (code < 0x100) return `\\x${hex.padStart(2, "0")}`;
    return code < 0x10000 ? `\\u${hex.padStart(4, "0")}` : `\\U${hex.padStart(8, "0")}`;
  });
}
