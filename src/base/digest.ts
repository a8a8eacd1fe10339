import { createHash } from "node:crypto";
import { canonicalJson } from "./canonical-json.ts";
import type { Json } from "./exact-json.ts";

/** `sha256:` and the lower-case hexadecimal digest of the text's UTF-8 bytes. */
export function digestText(text: string): string {
  return `sha256:${createHash("sha256").update(text, "utf8").digest("hex")}`;
}

/** The digest of a JSON value: over its canonical text, so that the order of keys does not count (semantics 1.2, 7.9). */
export function digestJson(value: Json): string {
  return digestText(canonicalJson(value));
}
