// @ts-check
/** What a pasted text is: an HLO text, or words of a log. Pure: knows no document. */

const HLO = /^(?:\s|\/\/[^\n]*\n|\/\*[\s\S]*?\*\/)*(?:HloModule|ENTRY)\b/;

/**
 * @param {string} text
 * @returns {"hlo" | "log" | null} null where there is nothing in it
 */
export function pastedKind(text) {
  if (!text.trim()) return null;
  return HLO.test(text) ? "hlo" : "log";
}
