import { type Json, parseExact } from "../../base/exact-json.ts";
import { isObject } from "./wire.ts";

/** One argument that the server wants to see as a header too (`x-mcp-header` of the modern protocol). */
interface Mirror {
  readonly path: readonly string[];
  readonly header: string;
}

const headerToken = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const mirrorable = new Set(["string", "integer", "boolean"]);
const depthMax = 32;
/** By schema object: a pin's schemas live as long as the pin, and are scanned once. */
const known = new WeakMap<object, readonly Mirror[]>();

/**
 * The `Mcp-Param-…` headers of a call, flat as names and values. Only primitive properties that a chain of `properties`
 * reaches are mirrored; an absent or null argument has no header.
 */
export function mirroredHeaders(inputSchema: unknown, argumentsText: string): string[] {
  const mirrors = mirrorsOf(inputSchema);
  if (mirrors.length === 0) return [];
  const args = parseExact(argumentsText);
  return mirrors.flatMap(({ path, header }) => {
    const text = primitiveText(valueAt(args, path));
    return text === undefined ? [] : [`mcp-param-${header}`, headerValue(text)];
  });
}

/** Text as a header value: itself when it is plain ASCII, else wrapped in base64 as the protocol says. */
export function headerValue(text: string): string {
  const plain = /^[\t\x20-\x7e]+$/.test(text) && text === text.trim() && !/^=\?base64\?.*\?=$/.test(text);
  return plain ? text : `=?base64?${Buffer.from(text, "utf8").toString("base64")}?=`;
}

function mirrorsOf(schema: unknown): readonly Mirror[] {
  if (typeof schema !== "object" || schema === null) return [];
  const cached = known.get(schema);
  if (cached) return cached;
  const found: Mirror[] = [];
  collect(schema as Json, [], found);
  known.set(schema, found);
  return found;
}

function collect(schema: Json, path: readonly string[], found: Mirror[]): void {
  if (!isObject(schema) || path.length > depthMax) return;
  const { "x-mcp-header": header, type, properties } = schema;
  if (typeof header === "string" && headerToken.test(header) && typeof type === "string" && mirrorable.has(type)) {
    found.push({ path, header: header.toLowerCase() });
  }
  if (!isObject(properties)) return;
  for (const [name, child] of Object.entries(properties)) collect(child, [...path, name], found);
}

function valueAt(root: Json, path: readonly string[]): Json | undefined {
  let node: Json | undefined = root;
  for (const key of path) {
    if (!isObject(node) || !Object.hasOwn(node, key)) return undefined;
    node = node[key];
  }
  return node;
}

/** Integers beyond a double have no header: the protocol says so, as servers could not compare them. */
function primitiveText(value: Json | undefined): string | undefined {
  if (typeof value === "string") return value;
  if (typeof value === "boolean") return String(value);
  return typeof value === "number" && (Number.isSafeInteger(value) || !Number.isInteger(value))
    ? String(value)
    : undefined;
}
