/** A JSON value whose integers are exact: one that no double holds is a bigint (semantics 3.8, 4.6). */
export type Json = null | boolean | number | bigint | string | Json[] | JsonObject;
/** A JSON object with exact integers. Its keys are data: `__proto__` is an ordinary one. */
export interface JsonObject {
  [key: string]: Json;
}

/**
 * An integer needs at least 16 digits to be beyond a double, and a text without one takes the fast path. Digits inside of strings
 * (digests, identifiers) do not look like one: no bracket, colon or comma stands right before and after them.
 */
const LONG_INTEGER = /(?:^|[[:,])\s*-?\d{16,}\s*(?:[,\]}]|$)/;
const INTEGER = /^-?\d+$/;

/**
 * Parses JSON text without ever rounding an integer: those that no double holds become bigints.
 * @throws SyntaxError when the text is no JSON.
 */
export function parseExact(text: string): Json {
  if (!LONG_INTEGER.test(text)) return JSON.parse(text) as Json;
  const parse = JSON.parse as (text: string, reviver: SourceReviver) => Json;
  return parse(text, (_key, value, { source }) =>
    source !== undefined && typeof value === "number" ? exactNumber(source) : value,
  );
}

/** The value of a JSON number's text: a bigint only where a double would change an integer. */
export function exactNumber(source: string): number | bigint {
  const value = Number(source);
  if (!INTEGER.test(source) || Number.isSafeInteger(value)) return value;
  const exact = BigInt(source);
  return Number.isFinite(value) && BigInt(value) === exact ? value : exact;
}

/** Beside the value of a number, V8 tells the text it stood for. The type library does not know it yet. */
type SourceReviver = (key: string, value: unknown, context: { readonly source?: string }) => unknown;

interface RawJson {
  rawJSON(text: string): unknown;
}

/**
 * Writes a value as JSON text, bigints with their digits. The counterpart of `parseExact`.
 * @throws TypeError for what is not JSON (cycles, functions at the root).
 */
export function stringifyExact(value: unknown, indent?: number): string {
  return JSON.stringify(
    value,
    (_key, item: unknown) => (typeof item === "bigint" ? (JSON as unknown as RawJson).rawJSON(String(item)) : item),
    indent,
  );
}
