import type { Json } from "../base/exact-json.ts";
import type { PinnedTool } from "../toolset/pin.ts";
import { schemaForm } from "../toolset/schema-form.ts";
import { type FormSchema, isObject } from "../toolset/schema-value.ts";
import { schemaType, type TypeUse } from "./schema-type.ts";
import type { TypeNode } from "./type-node.ts";

/** A schema as a type, with the named types it refers to: by `$defs` name, and `""` for the schema itself. */
export interface SchemaTypes {
  readonly root: TypeNode;
  readonly named: ReadonlyMap<string, TypeNode>;
}

/** What a tool takes and gives. */
export interface ToolTypes {
  readonly arguments: SchemaTypes;
  /** Whether a call may leave the arguments out. */
  readonly argumentsOptional: boolean;
  readonly result: SchemaTypes;
}

/** The types of one pinned tool. */
export function toolTypes(tool: PinnedTool): ToolTypes {
  const input = schemaForm(tool.inputSchema, { root: "object" }).schema;
  const output = schemaForm(tool.outputSchema, { root: "any" });
  const taken = schemaTypes(input, input, "arguments");
  const result = tool.outputSchema === undefined || output.faults.length > 0 ? true : output.schema;
  return {
    arguments: taken,
    argumentsOptional: isOptional(taken.root.kind === "reference" ? taken.named.get("") : taken.root),
    result: schemaTypes(unwrapped(result), result, "result"),
  };
}

function isOptional(type: TypeNode | undefined): boolean {
  return type?.kind === "object" && type.members.every(({ optional }) => optional);
}

/** FastMCP wraps what a tool returns as `{result: T}` and says so: scripts get T (semantics 4.6). */
function unwrapped(schema: FormSchema): Json {
  if (!isObject(schema) || schema["x-fastmcp-wrap-result"] !== true) return schema;
  const properties = schema["properties"];
  return (isObject(properties) ? properties["result"] : undefined) ?? true;
}

function schemaTypes(root: Json, document: FormSchema, use: TypeUse): SchemaTypes {
  const definitions = isObject(document) && isObject(document["$defs"]) ? document["$defs"] : {};
  const named = new Map(
    Object.entries(definitions).map(([name, schema]) => [name, schemaType(schema as FormSchema, use)]),
  );
  const text = JSON.stringify(document, (_key, value: unknown) => (typeof value === "bigint" ? String(value) : value));
  if (text.includes('"$ref":"#"')) named.set("", schemaType(document, use));
  const type = schemaType(root as FormSchema, use);
  return { root: named.has("") && root === document ? { kind: "reference", name: "" } : type, named };
}
