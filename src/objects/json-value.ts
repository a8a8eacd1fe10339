import { isDeepStrictEqual } from "node:util";
import { type Json, parseExact, stringifyExact } from "../base/exact-json.ts";

/**
 * A copy of a value as it is after a round trip through JSON, integers exact: undefined properties are gone, nothing is shared.
 * @returns undefined for undefined
 */
export function jsonCopy(value: unknown): Json | undefined {
  return value === undefined ? undefined : parseExact(stringifyExact(value));
}

/** Whether two values are the same JSON, whatever the order of keys. Absent and undefined are the same. */
export function sameJson(left: unknown, right: unknown): boolean {
  return isDeepStrictEqual(jsonCopy(left), jsonCopy(right));
}

/** Applies a JSON merge patch (RFC 7396): objects are merged, a null removes, anything else replaces. Changes neither input. */
export function mergePatch(target: Json | undefined, patch: Json): Json {
  if (!isObject(patch)) return patch;
  const merged = new Map<string, Json>(isObject(target) ? Object.entries(target) : []);
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) merged.delete(key);
    else merged.set(key, mergePatch(merged.get(key), value));
  }
  return Object.fromEntries(merged);
}

/** Freezes a JSON value with all it holds, so that whoever gets it cannot change what others see. */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const item of Object.values(value)) deepFreeze(item);
  return value;
}

function isObject(value: Json | undefined): value is { [key: string]: Json } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
