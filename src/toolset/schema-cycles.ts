import type { Fault } from "../base/errors.ts";
import type { Json, JsonObject } from "../base/exact-json.ts";
import { type FormSchema, isObject } from "./schema-value.ts";

const IN_PLACE_ONE = ["not", "if", "then", "else"];
const IN_PLACE_LIST = ["allOf", "anyOf", "oneOf"];

/**
 * References that lead back to themselves without a property or an item in between: no validator ends on such a schema and
 * no type can be written for it. Recursion through properties and items is fine (case a05).
 * @param schema in the common form, where each reference is `#` or `#/$defs/<name>`
 */
export function selfContainment(schema: FormSchema): Fault[] {
  if (!isObject(schema)) return [];
  const definitions = isObject(schema["$defs"]) ? schema["$defs"] : {};
  const done = new Set<string>();
  const open = new Set<string>();
  const faults: Fault[] = [];
  const visit = (reference: string): void => {
    if (open.has(reference)) {
      faults.push({ path: reference, message: `the reference "${reference}" contains itself without end` });
      return;
    }
    if (done.has(reference)) return;
    open.add(reference);
    const target = reference === "#" ? schema : definitions[reference.slice("#/$defs/".length)];
    for (const next of inPlaceReferences(target)) visit(next);
    open.delete(reference);
    done.add(reference);
  };
  for (const reference of ["#", ...Object.keys(definitions).map((name) => `#/$defs/${name}`)]) visit(reference);
  return faults;
}

/** The references that apply to the very value a schema applies to. */
function inPlaceReferences(schema: Json | undefined): string[] {
  if (!isObject(schema)) return [];
  const own = typeof schema["$ref"] === "string" ? [schema["$ref"]] : [];
  return [...own, ...inPlaceSchemas(schema).flatMap(inPlaceReferences)];
}

function inPlaceSchemas(schema: JsonObject): Json[] {
  const lists = IN_PLACE_LIST.map((keyword) => schema[keyword]).filter(Array.isArray);
  const dependent = isObject(schema["dependentSchemas"]) ? Object.values(schema["dependentSchemas"]) : [];
  return [...IN_PLACE_ONE.flatMap((keyword) => schema[keyword] ?? []), ...lists.flat(), ...dependent];
}
