import type { Json } from "../base/exact-json.ts";

/** Deepest nesting of a schema's JSON. The deepest of 3,000 tools of real servers is 11; recursion is written by `$ref`. */
export const SCHEMA_DEPTH_MAX = 64;
/** Most values in one schema. The largest real tool has about 1,500; compiling grows with it and must stay below a second. */
export const SCHEMA_NODES_MAX = 20_000;
/** Most characters in one schema's names and texts together, so that a pin of many tools stays in the megabytes. */
export const SCHEMA_CHARACTERS_MAX = 512 * 1024;

/** Why a JSON value is too large or too deep to be used as a schema; undefined when it is not. */
export function sizeFault(schema: Json): string | undefined {
  let nodes = 0;
  let characters = 0;
  let level: Json[] = [schema];
  for (let depth = 1; level.length > 0; depth++) {
    if (depth > SCHEMA_DEPTH_MAX) return `is nested deeper than ${SCHEMA_DEPTH_MAX} levels`;
    const next: Json[] = [];
    for (const value of level) {
      nodes++;
      if (typeof value === "string") characters += value.length;
      if (typeof value !== "object" || value === null) continue;
      for (const key of Object.keys(value)) characters += Array.isArray(value) ? 0 : key.length;
      for (const item of Object.values(value)) next.push(item);
    }
    if (nodes + next.length > SCHEMA_NODES_MAX) return `holds more than ${SCHEMA_NODES_MAX} values`;
    if (characters > SCHEMA_CHARACTERS_MAX) return `is longer than ${SCHEMA_CHARACTERS_MAX} characters`;
    level = next;
  }
  return undefined;
}
