import type { Json, JsonObject } from "../base/exact-json.ts";

/** A schema as the rest of Holdpoint reads it: a boolean or an object. */
export type FormSchema = boolean | JsonObject;

/** Whether a JSON value is an object. */
export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The same value with bigints as the nearest doubles: validators know no others. Keys stay data, `__proto__` too. */
export function asDoubles(value: Json): Json {
  if (typeof value === "bigint") return Number(value);
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(asDoubles);
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, asDoubles(item)]));
}
