import type { Json, JsonObject } from "../base/exact-json.ts";
import { stringifyExact } from "../base/exact-json.ts";

/** Bounds that a comment shows, as they are written in a schema. */
const BOUNDS = [
  "format",
  "pattern",
  "minimum",
  "exclusiveMinimum",
  "maximum",
  "exclusiveMaximum",
  "multipleOf",
  "minLength",
  "maxLength",
  "minItems",
  "maxItems",
  "uniqueItems",
  "minProperties",
  "maxProperties",
];

/** What of a schema has no type: its words, its default, its bounds; one text each, not escaped yet. */
export function schemaNotes(schema: JsonObject): string[] {
  const { title, description } = schema;
  const words = [typeof description === "string" ? description : title].filter((text) => typeof text === "string");
  const preset = schema["default"] === undefined ? [] : [`default: ${stringifyExact(schema["default"])}`];
  const bounds = [...boundsOf(schema), ...alternatives(schema).flatMap(boundsOf), ...boundsOfItems(schema["items"])];
  return [...words, ...preset, ...(bounds.length > 0 ? [[...new Set(bounds)].join(", ")] : [])];
}

function boundsOf(schema: Json): string[] {
  if (typeof schema !== "object" || schema === null || Array.isArray(schema)) return [];
  return BOUNDS.flatMap((keyword) => {
    const value = schema[keyword];
    if (value === undefined || value === false) return [];
    return [`${keyword}: ${typeof value === "string" ? value : stringifyExact(value)}`];
  });
}

/** A value that may be null is often written as two alternatives, with the bounds on the first. */
function alternatives(schema: JsonObject): Json[] {
  return [schema["anyOf"], schema["oneOf"], schema["allOf"]].filter(Array.isArray).flat();
}

function boundsOfItems(items: Json | undefined): string[] {
  return items === undefined ? [] : boundsOf(items).map((bound) => `items ${bound}`);
}
