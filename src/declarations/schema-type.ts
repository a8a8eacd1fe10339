import type { Json, JsonObject } from "../base/exact-json.ts";
import { type FormSchema, isObject } from "../toolset/schema-value.ts";
import { isOfKind, type Kind, literalType } from "./literal-type.ts";
import { schemaNotes } from "./schema-notes.ts";
import { intersection, isUnknown, type Member, NEVER, plain, type TypeNode, UNKNOWN, union } from "./type-node.ts";

/** What a type is for: what scripts pass, or what they get. */
export type TypeUse = "arguments" | "result";

/** Where a schema stands while it is turned into a type. */
export interface Surroundings {
  readonly use: TypeUse;
  /** What the value can be, as schemas around this one that apply to the same value say. */
  readonly kinds: readonly Kind[];
  /** Whether other schemas hold for the same value at the same time: then this one alone closes no object. */
  readonly shared: boolean;
}

const ALL_KINDS: readonly Kind[] = ["object", "array", "string", "number", "boolean", "null"];
const OBJECT_KEYWORDS = [
  "properties",
  "required",
  "additionalProperties",
  "patternProperties",
  "unevaluatedProperties",
];
const ARRAY_KEYWORDS = ["items", "prefixItems"];
const IN_PLACE_KEYWORDS = ["$ref", "allOf", "anyOf", "oneOf", "if"];

const OPEN_RECORD: TypeNode = { kind: "object", members: [], index: UNKNOWN };
const EMPTY_RECORD: TypeNode = { kind: "object", members: [], index: NEVER };

/**
 * The type of a schema in the common form (semantics 2.2). It takes every value the schema takes, with one exception on
 * purpose: a result schema that only says how an object (or array) looks is taken for one, else nothing could be read of it.
 */
export function schemaType(schema: FormSchema, use: TypeUse): TypeNode {
  return typeOf(schema, standingAlone(use));
}

/** A schema that is all that is said of its value: a property, an item, the root. */
function standingAlone(use: TypeUse): Surroundings {
  return { use, kinds: ALL_KINDS, shared: false };
}

/** A malformed schema was refused when it was pinned, so what is none here says nothing. */
function typeOf(schema: Json | undefined, outer: Surroundings): TypeNode {
  if (schema === false) return NEVER;
  if (!isObject(schema)) return UNKNOWN;
  const kinds = narrow(outer.kinds, schema["type"]);
  const others = intersection(inPlaceTypes(schema, { ...outer, kinds }));
  if (addsNothing(schema, kinds, outer, others)) return others;
  const own = ownType(schema, { use: outer.use, kinds, shared: outer.shared || !isUnknown(others) });
  return intersection([own, others]);
}

/** `type: object` beside alternatives that say how it looks: an open record there would let any key into all of them. */
function addsNothing(schema: JsonObject, kinds: readonly Kind[], outer: Surroundings, others: TypeNode): boolean {
  if (says(schema, OBJECT_KEYWORDS) || says(schema, [...ARRAY_KEYWORDS, "enum", "const"])) return false;
  const isKnown = outer.shared && kinds.length === outer.kinds.length && kinds.length < ALL_KINDS.length;
  return isKnown || (kinds.length === 1 && kinds[0] === "object" && !isUnknown(others));
}

function inPlaceTypes(schema: JsonObject, inside: Surroundings): TypeNode[] {
  const types: TypeNode[] = [];
  const reference = schema["$ref"];
  if (typeof reference === "string") types.push({ kind: "reference", name: reference.slice("#/$defs/".length) });
  for (const part of list(schema["allOf"])) types.push(typeOf(part, { ...inside, shared: true }));
  const holding = IN_PLACE_KEYWORDS.filter((keyword) => schema[keyword] !== undefined).length;
  const shared = inside.shared || holding > 1 || says(schema, OBJECT_KEYWORDS);
  for (const keyword of ["anyOf", "oneOf"]) {
    const branches = schema[keyword];
    if (Array.isArray(branches)) types.push(union(branches.map((branch) => typeOf(branch, { ...inside, shared }))));
  }
  if (schema["not"] === true || (isObject(schema["not"]) && Object.keys(schema["not"]).length === 0)) types.push(NEVER);
  if (schema["if"] !== undefined) types.push(conditionalType(schema, { ...inside, shared: true }));
  return types;
}

/** Either the condition holds and `then` does, or `else` does: without `else` nothing is known. */
function conditionalType(schema: JsonObject, inside: Surroundings): TypeNode {
  const met = intersection([typeOf(schema["if"], inside), typeOf(schema["then"], inside)]);
  return union([met, typeOf(schema["else"], inside)]);
}

function ownType(schema: JsonObject, inside: Surroundings): TypeNode {
  const choices = schema["const"] === undefined ? schema["enum"] : [schema["const"]];
  if (Array.isArray(choices)) {
    return union(choices.filter((choice) => isOfKind(choice, inside.kinds)).map(literalType));
  }
  const hasObject = says(schema, OBJECT_KEYWORDS);
  const hasArray = says(schema, ARRAY_KEYWORDS);
  if (schema["type"] === undefined && !hasObject && !hasArray) return UNKNOWN;
  const isUnsaid = schema["type"] === undefined && inside.kinds.length === ALL_KINDS.length;
  const implied: Kind[] = [...(hasObject ? (["object"] as const) : []), ...(hasArray ? (["array"] as const) : [])];
  const kinds = isUnsaid && inside.use === "result" ? implied : inside.kinds;
  return union(kinds.map((kind) => kindType(kind, schema, inside)));
}

function kindType(kind: Kind, schema: JsonObject, inside: Surroundings): TypeNode {
  if (kind === "object") return objectType(schema, inside);
  if (kind === "array") return arrayType(schema, inside.use);
  // What a double cannot hold is a bigint in a script, and taken as an argument (semantics 3.8).
  if (kind === "integer" && inside.use === "arguments") return union([plain("number"), plain("bigint")]);
  return plain(kind === "integer" ? "number" : kind);
}

/** The type of an object schema (semantics 2.2, cases b01 and b05). */
function objectType(schema: JsonObject, inside: Surroundings): TypeNode {
  const members = membersOf(schema, inside.use);
  const rest = schema["additionalProperties"] ?? schema["unevaluatedProperties"];
  const patterns = Object.values(isObject(schema["patternProperties"]) ? schema["patternProperties"] : {});
  if (members.length > 0) {
    const takesMore = patterns.length > 0 || rest === true || isObject(rest);
    // Other keys may have another type than the named ones, so what they hold is left to the check at run time.
    return takesMore ? { kind: "object", members, index: UNKNOWN } : { kind: "object", members };
  }
  if (rest === false && patterns.length === 0) return inside.shared ? OPEN_RECORD : EMPTY_RECORD;
  if (rest === undefined && patterns.length === 0) {
    const namesNone = schema["properties"] !== undefined && inside.use === "arguments" && !inside.shared;
    return namesNone ? EMPTY_RECORD : OPEN_RECORD;
  }
  const types = [...patterns, ...(rest === false ? [] : [rest ?? true])].map((item) =>
    typeOf(item, standingAlone(inside.use)),
  );
  return { kind: "object", members: [], index: union(types) };
}

/** What every object has under the name of an optional member must fit it, or no object without that member would. */
function orInherited(name: string, type: TypeNode): TypeNode {
  if (!Object.hasOwn(Object.prototype, name) || name.startsWith("__")) return type;
  return union([type, plain(`Object["${name}"]`)]);
}

function membersOf(schema: JsonObject, use: TypeUse): Member[] {
  const required = new Set(Array.isArray(schema["required"]) ? schema["required"] : []);
  const properties = Object.entries(isObject(schema["properties"]) ? schema["properties"] : {});
  const members = properties.map(([name, property]): Member => {
    const notes = isObject(property) ? schemaNotes(property) : [];
    const optional = !required.delete(name);
    const type = typeOf(property, standingAlone(use));
    return { name, optional, type: optional && use === "arguments" ? orInherited(name, type) : type, notes };
  });
  const unnamed = [...required].filter((name) => typeof name === "string");
  return [...members, ...unnamed.map((name) => ({ name, optional: false, type: UNKNOWN, notes: [] }))];
}

/** The type of an array schema: a tuple where it names its first items. */
function arrayType(schema: JsonObject, use: TypeUse): TypeNode {
  const prefix = Array.isArray(schema["prefixItems"]) ? schema["prefixItems"] : [];
  const items = schema["items"] ?? (prefix.length > 0 ? schema["unevaluatedItems"] : undefined);
  const item = items === undefined ? UNKNOWN : typeOf(items, standingAlone(use));
  if (prefix.length === 0) return { kind: "array", item };
  const most = count(schema["maxItems"], Number.POSITIVE_INFINITY);
  const least = count(schema["minItems"], 0);
  const named = prefix
    .slice(0, most)
    .map((part, index) => ({ type: typeOf(part, standingAlone(use)), optional: index >= least }));
  const endsThere = items === false || most <= prefix.length;
  return endsThere ? { kind: "tuple", items: named } : { kind: "tuple", items: named, rest: item };
}

function count(value: Json | undefined, otherwise: number): number {
  return typeof value === "number" ? value : otherwise;
}

/** What remains of the kinds when `type` allows only some. */
function narrow(kinds: readonly Kind[], type: Json | undefined): readonly Kind[] {
  if (type === undefined) return kinds;
  const named = [type].flat();
  const isNarrower = (kind: Kind) => kind === "number" && !named.includes("number") && named.includes("integer");
  return kinds.flatMap((kind): Kind[] => {
    if (isNarrower(kind)) return ["integer"];
    return named.includes(kind) || (kind === "integer" && named.includes("number")) ? [kind] : [];
  });
}

/** Whether one of the keywords says anything: a list of no required names and a map of no properties do not. */
function says(schema: JsonObject, keywords: readonly string[]): boolean {
  return keywords.some((keyword) => {
    const value = schema[keyword];
    if (value === undefined) return false;
    return !["properties", "required", "patternProperties"].includes(keyword) || Object.keys(value ?? {}).length > 0;
  });
}

function list(value: Json | undefined): Json[] {
  return Array.isArray(value) ? value : [];
}
