import type { Fault } from "../base/errors.ts";
import type { Json } from "../base/exact-json.ts";
import { metaSchemaFaults } from "./meta-schema.ts";
import { SchemaConversion } from "./schema-conversion.ts";
import { selfContainment } from "./schema-cycles.ts";
import { sizeFault } from "./schema-limits.ts";
import { type FormSchema, isObject } from "./schema-value.ts";

/**
 * One form for schemas of every dialect, from which both the validator and the declarations are made, so that they agree:
 * 2020-12, no ids and anchors, each reference rewritten to `#` or `#/$defs/<identifier>`, numbers as doubles, unknown keywords gone.
 */
export interface SchemaForm {
  readonly schema: FormSchema;
  /** Why the schema cannot be used; empty when it can. Paths are JSON pointers into the original, with a leading `#`. */
  readonly faults: readonly Fault[];
  /** What of the schema is not enforced, one sentence each. */
  readonly warnings: readonly string[];
}

/**
 * Reads a schema.
 * @param options.root `object` for a tool's input: absent, null, empty or without `type` means an object (semantics 1.5)
 */
export function schemaForm(raw: Json | undefined, options: { readonly root: "any" | "object" }): SchemaForm {
  const asObject = options.root === "object";
  const source = asObject ? objectRoot(raw) : raw;
  if (typeof source !== "boolean" && !isObject(source)) return unusable("#", "is no schema: it must be an object");
  const tooLarge = sizeFault(source);
  if (tooLarge !== undefined) return unusable("#", tooLarge);
  const conversion = new SchemaConversion(source);
  const { schema, faults, warnings } = conversion.run();
  if (faults.length > 0) return { schema, faults, warnings };
  const found = [...metaSchemaFaults(schema), ...selfContainment(schema), ...(asObject ? takesNoObject(schema) : [])];
  return { schema, faults: found, warnings };
}

function unusable(path: string, message: string): SchemaForm {
  return { schema: true, faults: [{ path, message }], warnings: [] };
}

function objectRoot(raw: Json | undefined): Json {
  if (raw === undefined || raw === null || raw === true) return { type: "object" };
  if (!isObject(raw) || (raw["type"] !== undefined && raw["type"] !== null)) return raw;
  return { ...raw, type: "object" };
}

/** A tool's arguments are always an object, so an input schema that takes none makes the tool useless. */
function takesNoObject(schema: FormSchema): Fault[] {
  if (typeof schema === "boolean") return schema ? [] : [{ path: "#", message: "takes nothing at all" }];
  const types = [schema["type"]].flat();
  const enumeration = schema["enum"];
  const listsNone = Array.isArray(enumeration) && !enumeration.some(isObject);
  if (!types.includes("object") || listsNone)
    return [{ path: "#/type", message: "takes no object, and a tool's arguments are one" }];
  return [];
}
