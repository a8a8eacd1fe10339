import type { Json } from "../base/exact-json.ts";
import { literalText } from "./escape.ts";
import { plain, type TypeNode } from "./type-node.ts";

/** The JSON types, where `integer` is the part of `number` that it is. */
export type Kind = "string" | "number" | "integer" | "boolean" | "null" | "object" | "array";

/** The literal type of a value that an `enum` or `const` lists. */
export function literalType(value: Json): TypeNode {
  if (value === null || typeof value === "boolean") return plain(String(value));
  if (typeof value === "string") return plain(literalText(value));
  if (typeof value === "bigint" || typeof value === "number") return numberType(value);
  if (Array.isArray(value)) {
    return { kind: "tuple", items: value.map((item) => ({ type: literalType(item), optional: false })) };
  }
  const members = Object.entries(value).map(([name, item]) => ({
    name,
    optional: false,
    type: literalType(item),
    notes: [],
  }));
  return { kind: "object", members };
}

/** A schema's numbers are doubles here, so an integer beyond their exact range stands for its neighbours too. */
function numberType(value: number | bigint): TypeNode {
  const isExact = typeof value === "number" && (Number.isSafeInteger(value) || !Number.isInteger(value));
  if (isExact && Number.isFinite(value)) return plain(String(value));
  return { kind: "union", of: [plain("number"), plain("bigint")] };
}

/** Whether a JSON value is of one of the kinds. */
export function isOfKind(value: Json, kinds: readonly Kind[]): boolean {
  if (value === null) return kinds.includes("null");
  if (Array.isArray(value)) return kinds.includes("array");
  if (typeof value === "bigint") return kinds.includes("number") || kinds.includes("integer");
  if (typeof value === "number") {
    return kinds.includes("number") || (kinds.includes("integer") && Number.isInteger(value));
  }
  return kinds.includes(typeof value as Kind);
}
