import type { Json } from "./exact-json.ts";

/**
 * Canonical JSON: RFC 8785, except that an integer which no double holds is written with its digits (semantics 1.2).
 * Keys are sorted by UTF-16 code units, there is no white space, numbers are written as ECMAScript does.
 * @throws RangeError with the path of a lone surrogate or of a number that is not finite: canonical JSON cannot hold them.
 */
export function canonicalJson(value: Json): string {
  return write(value, "");
}

function write(value: Json, path: string): string {
  if (value === null || typeof value === "boolean") return String(value);
  if (typeof value === "bigint") return String(value);
  if (typeof value === "number") {
    if (!Number.isFinite(value)) throw new RangeError(`no JSON number at ${path || "/"}`);
    return JSON.stringify(value);
  }
  if (typeof value === "string") return writeString(value, path);
  if (Array.isArray(value)) return `[${value.map((item, index) => write(item, `${path}/${index}`)).join(",")}]`;
  const members = Object.keys(value)
    .sort(byCodeUnits)
    .map((key) => `${writeString(key, path)}:${write(value[key] as Json, `${path}/${key}`)}`);
  return `{${members.join(",")}}`;
}

function writeString(value: string, path: string): string {
  if (!value.isWellFormed()) throw new RangeError(`lone surrogate in the text at ${path || "/"}`);
  return JSON.stringify(value);
}

function byCodeUnits(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}
