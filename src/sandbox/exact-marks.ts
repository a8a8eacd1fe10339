import { exactNumber } from "../base/exact-json.ts";

/** JSON text as the script's world reads it: integers that no double holds stand in it as strings that begin with `mark`. */
export interface MarkedText {
  readonly text: string;
  readonly mark?: string;
}

const LONG_DIGIT_RUN = /\d{16}/;
const LONE_SURROGATE = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

/**
 * Prepares exact JSON text for the way into an instance, which knows doubles only when it parses (semantics 3.8).
 * Lone surrogates become escapes, as the way is UTF-8.
 */
export function markIntegers(given: string): MarkedText {
  const text = given.isWellFormed() ? given : given.replace(LONE_SURROGATE, escapeUnit);
  if (!LONG_DIGIT_RUN.test(text)) return { text };
  let mark = "integer:";
  for (let number = 1; text.includes(mark); number += 1) mark = `integer${number}:`;
  const marked = replaceNumbers(text, mark);
  return marked === text ? { text } : { text: marked, mark };
}

function escapeUnit(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16)}`;
}

function replaceNumbers(text: string, mark: string): string {
  const pieces: string[] = [];
  let copied = 0;
  let at = 0;
  while (at < text.length) {
    const code = text.charCodeAt(at);
    if (code === 34) at = endOfString(text, at);
    else if (code === 45 || (code >= 48 && code <= 57)) {
      const end = endOfNumber(text, at);
      const number = text.slice(at, end);
      if (typeof exactNumber(number) === "bigint") {
        pieces.push(text.slice(copied, at), `"${mark}${number}"`);
        copied = end;
      }
      at = end;
    } else at += 1;
  }
  return pieces.length === 0 ? text : pieces.join("") + text.slice(copied);
}

function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && text.charCodeAt(at) !== 34) at += text.charCodeAt(at) === 92 ? 2 : 1;
  return at + 1;
}

function endOfNumber(text: string, start: number): number {
  let at = start;
  while (at < text.length && "+-.0123456789eE".includes(text[at] ?? "")) at += 1;
  return at;
}
