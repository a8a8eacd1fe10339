/**
 * Text of a schema on its way into code or one line of a prompt (semantics 2.2, case b03): whatever it holds, it can close
 * no comment and no literal, and start no line.
 */

const PLAIN_NAME = /^[A-Za-z_$][\w$]*$/;
/** Plain names that mean something else where a member's name stands. */
const QUOTED_NAMES: ReadonlySet<string> = new Set(["__proto__", "constructor", "get", "new", "readonly", "set"]);
const LINE_BREAK = /\r\n|[\n\r\u0085\u2028\u2029\v\f]/;
/** Control and formatting characters: they show as nothing, or turn the direction of the text around them. */
const INVISIBLE = /[\p{Cc}\p{Cf}\u2028\u2029]/gu;

/** A string literal of TypeScript that is also one of JSON. */
export function literalText(text: string): string {
  return JSON.stringify(text).replace(INVISIBLE, codePoint);
}

/** A member's name: bare where that is safe, else a string literal. */
export function memberName(name: string): string {
  return PLAIN_NAME.test(name) && !QUOTED_NAMES.has(name) ? name : literalText(name);
}

/** How a tool is reached: `github.list_issues`, `github["list-issues"]` (semantics 1.6). */
export function memberAccess(group: string, name: string): string {
  return PLAIN_NAME.test(name) ? `${group}.${name}` : `${group}[${literalText(name)}]`;
}

/** The lines of a text inside a block comment, cut at `lengthMax` characters. */
export function commentLines(text: string, lengthMax: number): string[] {
  return cut(text, lengthMax)
    .split(LINE_BREAK)
    .map((line) => line.replaceAll("\t", " ").replace(INVISIBLE, codePoint).trimEnd())
    .map((line) => line.replaceAll("*/", "*\\/").replaceAll("@ts-", "@ ts-"))
    .filter((line, index, lines) => line !== "" || (index > 0 && lines[index - 1] !== ""));
}

/** A text as part of one line: line breaks of every kind are spaces, cut at `lengthMax` characters. */
export function oneLine(text: string, lengthMax: number): string {
  const flat = text
    .split(LINE_BREAK)
    .join(" ")
    .replaceAll("\t", " ")
    .replace(INVISIBLE, "")
    .replace(/ {2,}/g, " ")
    .trim();
  return cut(flat, lengthMax);
}

function cut(text: string, lengthMax: number): string {
  return text.length <= lengthMax ? text : `${text.slice(0, lengthMax - 1).toWellFormed()}…`;
}

function codePoint(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  return code > 0xffff ? `\\u{${code.toString(16)}}` : `\\u${code.toString(16).padStart(4, "0")}`;
}
