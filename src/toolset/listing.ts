import { canonicalJson } from "../base/canonical-json.ts";
import type { Json, JsonObject } from "../base/exact-json.ts";
import type { Pin, PinnedTool } from "./pin.ts";
import { schemaForm } from "./schema-form.ts";
import { isObject } from "./schema-value.ts";
import { isSelected, type ToolSelection } from "./tool-pattern.ts";

/** A server's listing as it is pinned: what cannot be used is left out alone, never the rest (semantics 1.1, 1.5). */
export interface NormalListing {
  /** In the server's order; the selected tools only. */
  readonly tools: readonly PinnedTool[];
  readonly refused: Pin["refused"];
  readonly warnings: Pin["warnings"];
}

/** Longest name of a tool: it becomes part of keys, conditions and metrics. The specification's own advice is 128. */
const NAME_LENGTH_MAX = 256;
/** Longest title and description that are pinned, each. The longest real one has 13 kB. */
const WORDS_LENGTH_MAX = 64 * 1024;
const RETENTIONS: readonly Json[] = ["ephemeral", "durable", "outward"];

/**
 * Reads the tools of one server.
 * @param group the server's name, under which scripts find its tools
 * @param entries each tool as the server sent it, integers exact
 * @param selection the Toolset's `include` and `exclude`; a tool that it does not take is not even looked at
 */
export function normaliseListing(
  group: string,
  entries: readonly unknown[],
  selection: ToolSelection = {},
): NormalListing {
  const tools: PinnedTool[] = [];
  const refused: Pin["refused"][number][] = [];
  const warnings: Pin["warnings"][number][] = [];
  entries.forEach((entry, index) => {
    const name = isObject(entry as Json) ? (entry as JsonObject)["name"] : undefined;
    if (typeof name === "string" && !isSelected(selection, name)) return;
    const tool = typeof name === "string" && name !== "" ? `${group}.${cut(name)}` : `${group}[${index}]`;
    const read = readTool(group, name, entry as JsonObject);
    if ("fault" in read) refused.push({ tool, reason: "SchemaUnsupported", message: read.fault });
    else {
      tools.push(read.tool);
      for (const message of read.warnings) warnings.push({ tool, message });
    }
  });
  return { tools, refused, warnings };
}

type ReadTool = { readonly tool: PinnedTool; readonly warnings: readonly string[] } | { readonly fault: string };

function readTool(group: string, name: Json | undefined, entry: JsonObject): ReadTool {
  if (typeof name !== "string" || name === "") return { fault: "the entry has no name" };
  if (name.length > NAME_LENGTH_MAX) return { fault: `the name is longer than ${NAME_LENGTH_MAX} characters` };
  if (!name.isWellFormed()) return { fault: "the name is no valid Unicode text" };
  const warnings: string[] = [];
  const input = entry["inputSchema"];
  const inputForm = schemaForm(input, { root: "object" });
  const inputFault = inputForm.faults[0] ?? writeFault(input);
  if (inputFault) return { fault: `the input schema cannot be used: ${inputFault.path} ${inputFault.message}` };
  warnings.push(...inputForm.warnings.map((warning) => `input schema: ${warning}`));
  const isAbsent = input === undefined || input === null || input === true;
  const members: [string, Json | undefined][] = [
    ["title", words("title", entry["title"], warnings)],
    ["description", words("description", entry["description"], warnings)],
    ["outputSchema", outputSchema(entry["outputSchema"], warnings)],
    ["annotations", exact("annotations", entry["annotations"], warnings)],
    ["execution", exact("execution", entry["execution"], warnings)],
  ];
  const present = Object.fromEntries(members.filter(([, value]) => value !== undefined));
  const inputSchema = isAbsent ? { type: "object" } : (input as Json);
  return { tool: { group, name, ...present, inputSchema, tags: tags(entry["_meta"], warnings) }, warnings };
}

/** An output schema that cannot be used is set aside: the result type is then observed, else unknown (case a05). */
function outputSchema(schema: Json | undefined, warnings: string[]): Json | undefined {
  if (schema === undefined || schema === null) return undefined;
  const form = schemaForm(schema, { root: "any" });
  const fault = form.faults[0] ?? writeFault(schema);
  if (fault) {
    warnings.push(`the output schema is set aside: ${fault.path} ${fault.message}`);
    return undefined;
  }
  warnings.push(...form.warnings.map((warning) => `output schema: ${warning}`));
  return schema;
}

function words(what: string, value: Json | undefined, warnings: string[]): string | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value !== "string") {
    warnings.push(`the ${what} is left out: it is no text`);
    return undefined;
  }
  if (value.length > WORDS_LENGTH_MAX) warnings.push(`the ${what} is cut at ${WORDS_LENGTH_MAX} characters`);
  return value.slice(0, WORDS_LENGTH_MAX).toWellFormed();
}

function exact(what: string, value: Json | undefined, warnings: string[]): Json | undefined {
  if (value === undefined || value === null) return undefined;
  const fault = writeFault(value);
  if (!fault) return value;
  warnings.push(`${what}: left out, as there is ${fault.message}`);
  return undefined;
}

/** The `newt/…` tags. A malformed one is pinned as it is and means nothing, which is said. */
function tags(meta: Json | undefined, warnings: string[]): JsonObject {
  if (!isObject(meta)) return {};
  const own = Object.entries(meta).filter(([key, value]) => key.startsWith("newt/") && !writeFault(value));
  const retention = meta["newt/retention"];
  if (retention !== undefined && !RETENTIONS.includes(retention)) {
    warnings.push("the tag newt/retention is none of ephemeral, durable, outward: the tool counts as durable");
  }
  return Object.fromEntries(own);
}

/** What canonical JSON cannot hold (a lone surrogate, an infinite number) can be in no digest, and so in no pin. */
function writeFault(value: Json | undefined): { path: string; message: string } | undefined {
  if (value === undefined) return undefined;
  try {
    canonicalJson(value);
    return undefined;
  } catch (error) {
    if (error instanceof RangeError) return { path: "#", message: error.message };
    throw error;
  }
}

function cut(name: string): string {
  return (name.length > NAME_LENGTH_MAX ? `${name.slice(0, NAME_LENGTH_MAX)}…` : name).toWellFormed();
}
