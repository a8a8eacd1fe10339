import { digestText } from "../base/digest.ts";
import type { Fault } from "../base/errors.ts";
import type { Json, JsonObject } from "../base/exact-json.ts";
import { pointerPart } from "./json-path.ts";
import { compileSafePattern } from "./safe-pattern.ts";
import { type Dialect, dialectOf, isKeywordOf, SCHEMA_KEYWORDS, SCHEMA_LIST_KEYWORDS } from "./schema-dialect.ts";
import { References, type Target } from "./schema-references.ts";
import { asDoubles, type FormSchema, isObject } from "./schema-value.ts";

/** Keywords that are taken over with their value, numbers as doubles. */
const PLAIN_KEYWORDS: ReadonlySet<string> = new Set([
  "const",
  "default",
  "dependentRequired",
  "enum",
  "maxContains",
  "maxItems",
  "maxLength",
  "maxProperties",
  "minContains",
  "minItems",
  "minLength",
  "minProperties",
  "multipleOf",
  "pattern",
  "uniqueItems",
  "x-fastmcp-wrap-result",
]);
/** Keywords for people: one of another type than text is left out, as nothing hangs on it. */
const TEXT_KEYWORDS: ReadonlySet<string> = new Set(["title", "description", "format"]);
/** Keywords for which null is a value; elsewhere it is how some servers write "absent". */
const NULL_IS_VALUE: ReadonlySet<string> = new Set(["const", "default"]);

interface Place {
  readonly pointer: string;
  /** Pointer of the nearest enclosing schema with an id, where `#/…` starts. */
  readonly resource: string;
}

/** Most definitions one schema refers to: the validator nests once for each of a chain, and its stack must hold. */
const DEFINITIONS_MAX = 500;

interface ReferredSchema {
  readonly source: Target & Place;
  schema: FormSchema;
  readonly users: JsonObject[];
}

/** Rewrites one schema document of any dialect into the common form (see SchemaForm). Used once. */
export class SchemaConversion {
  readonly #root: boolean | JsonObject;
  readonly #dialect: Dialect;
  readonly #references: References;
  readonly #faults: Fault[] = [];
  readonly #warnings: string[] = [];
  /** What is referred to, by pointer. A map is converted while it grows; those who refer get the name at the end. */
  readonly #targets = new Map<string, ReferredSchema>();

  constructor(root: boolean | JsonObject) {
    this.#root = root;
    this.#dialect = isObject(root) ? dialectOf(root) : 2020;
    this.#references = new References(root);
  }

  run(): { schema: FormSchema; faults: readonly Fault[]; warnings: readonly string[] } {
    const schema = this.#convert(this.#root, { pointer: "", resource: "" });
    for (const target of this.#targets.values()) target.schema = this.#convert(target.source.schema, target.source);
    const definitions = this.#nameTargets();
    const complete =
      isObject(schema) && definitions.length > 0 ? { ...schema, $defs: Object.fromEntries(definitions) } : schema;
    return { schema: complete, faults: this.#faults, warnings: [...new Set(this.#warnings)] };
  }

  #convert(raw: Json, at: Place): FormSchema {
    if (typeof raw === "boolean") return raw;
    if (raw === null) return true;
    if (!isObject(raw)) {
      this.#faults.push({ path: `#${at.pointer}`, message: "is no schema: it must be an object or a boolean" });
      return true;
    }
    const ownId = typeof (raw["$id"] ?? raw["id"]) === "string";
    const place = ownId ? { ...at, resource: at.pointer } : at;
    const members: [string, Json][] = [];
    for (const [keyword, value] of Object.entries(raw)) {
      if (value === null && !NULL_IS_VALUE.has(keyword)) continue;
      if (!isKeywordOf(this.#dialect, keyword)) continue;
      members.push(...this.#keyword(keyword, value, raw, place));
    }
    const converted: JsonObject = Object.fromEntries(members);
    this.#reference(raw, converted, place);
    return withNull(raw, converted);
  }

  #keyword(keyword: string, value: Json, raw: JsonObject, at: Place): [string, Json][] {
    const child = { pointer: `${at.pointer}/${pointerPart(keyword)}`, resource: at.resource };
    if (keyword === "properties") return [[keyword, this.#map(value, child)]];
    if (keyword === "dependentSchemas") return [[keyword, this.#map(value, child)]];
    if (keyword === "patternProperties") return [[keyword, this.#patternMap(value, child)]];
    if (keyword === "dependencies") return this.#dependencies(value, child);
    if (keyword === "items" || keyword === "additionalItems") return this.#items(keyword, value, raw, child);
    if (keyword === "additionalProperties" || keyword === "unevaluatedProperties") {
      return this.#dropsPattern(raw) ? [] : [[keyword, this.#convert(value, child)]];
    }
    if (SCHEMA_KEYWORDS.has(keyword)) return [[keyword, this.#convert(value, child)]];
    if (SCHEMA_LIST_KEYWORDS.has(keyword)) return [[keyword, this.#list(value, child)]];
    if (keyword === "type") return typeMember(value);
    if (keyword === "required") return Array.isArray(value) ? [[keyword, [...new Set(value)]]] : requiredFlag(value);
    if (/^(exclusiveM|m)(in|ax)imum$/.test(keyword)) return boundMember(keyword, value, raw);
    // Nothing satisfies an empty enum (semantics 1.10), and the validator would refuse to compile it.
    if (keyword === "enum" && Array.isArray(value) && value.length === 0) return [["not", {}]];
    if (keyword === "pattern") this.#checkPattern(value, at);
    if (PLAIN_KEYWORDS.has(keyword)) return [[keyword, asDoubles(value)]];
    if (TEXT_KEYWORDS.has(keyword) && typeof value === "string") return [[keyword, value]];
    return [];
  }

  #map(value: Json, at: Place): Json {
    if (!isObject(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, this.#convert(item, below(at, key))]));
  }

  #list(value: Json, at: Place): Json {
    return Array.isArray(value) ? value.map((item, index) => this.#convert(item, below(at, index))) : value;
  }

  /** Keys whose pattern no safe engine takes are not enforced, and neither is what the schema says of all other keys. */
  #patternMap(value: Json, at: Place): Json {
    const map = this.#map(value, at);
    if (!isObject(map)) return map;
    const kept = Object.entries(map).filter(([pattern]) => {
      this.#checkPattern(pattern, at);
      return compileSafePattern(pattern) !== undefined;
    });
    return Object.fromEntries(kept);
  }

  #dropsPattern(raw: JsonObject): boolean {
    const patterns = raw["patternProperties"];
    return isObject(patterns) && Object.keys(patterns).some((pattern) => compileSafePattern(pattern) === undefined);
  }

  #checkPattern(pattern: Json, at: Place): void {
    if (typeof pattern !== "string" || compileSafePattern(pattern) !== undefined) return;
    this.#warnings.push(
      `the pattern ${JSON.stringify(pattern)} at #${at.pointer} is not enforced: no safe engine takes it`,
    );
  }

  /** `dependencies` of the older dialects: lists of names and schemas in one keyword. */
  #dependencies(value: Json, at: Place): [string, Json][] {
    if (!isObject(value)) return [];
    const entries = Object.entries(value);
    const names = entries.filter(([, item]) => Array.isArray(item));
    const schemas = entries.filter(([, item]) => !Array.isArray(item));
    const converted = schemas.map(([key, item]) => [key, this.#convert(item, below(at, key))] as const);
    return [
      ["dependentRequired", Object.fromEntries(names)],
      ["dependentSchemas", Object.fromEntries(converted)],
    ];
  }

  /** A list under `items` is a tuple in every dialect but the newest, and is meant as one there too. */
  #items(keyword: string, value: Json, raw: JsonObject, at: Place): [string, Json][] {
    const isTuple = Array.isArray(raw["items"]);
    if (keyword === "items" && isTuple) return [["prefixItems", this.#list(value, at)]];
    if (keyword === "items") return [["items", this.#convert(value, at)]];
    return isTuple ? [["items", this.#convert(value, at)]] : [];
  }

  #reference(raw: JsonObject, converted: JsonObject, at: Place): void {
    const reference = raw["$ref"] ?? raw["$dynamicRef"] ?? raw["$recursiveRef"];
    if (typeof reference !== "string") return;
    if (/^https?:\/\/json-schema\.org\/.*schema#?$/.test(reference)) {
      converted["type"] = ["object", "boolean"];
      return;
    }
    const target = this.#references.resolve(reference, at.resource);
    if (target === undefined) {
      const message = `the reference ${JSON.stringify(reference)} points nowhere in this schema, and nothing is fetched`;
      this.#faults.push({ path: `#${at.pointer}/$ref`, message });
    } else if (target.pointer === "") converted["$ref"] = "#";
    else this.#target(target, at.resource).push(converted);
  }

  #target(target: Target, resource: string): JsonObject[] {
    const known = this.#targets.get(target.pointer);
    if (known !== undefined) return known.users;
    if (this.#targets.size === DEFINITIONS_MAX) {
      this.#faults.push({ path: "#", message: `refers to more than ${DEFINITIONS_MAX} definitions` });
    }
    if (this.#targets.size >= DEFINITIONS_MAX) return [];
    const entry: ReferredSchema = { source: { ...target, resource }, schema: true, users: [] };
    this.#targets.set(target.pointer, entry);
    return entry.users;
  }

  /** Names depend on where a definition stands and on nothing else, so they are stable whatever the order of keys. */
  #nameTargets(): [string, FormSchema][] {
    const pointers = [...this.#targets.keys()].sort();
    const plain = pointers.map(lastName);
    return pointers.map((pointer, index) => {
      const base = plain[index] as string;
      const isUnique = base !== "" && plain.indexOf(base) === plain.lastIndexOf(base);
      const name = isUnique ? base : `${base || "Type"}_${digestText(pointer).slice(7, 15)}`;
      const entry = this.#targets.get(pointer);
      for (const user of entry?.users ?? []) user["$ref"] = `#/$defs/${name}`;
      return [name, entry?.schema ?? true];
    });
  }
}

function below(at: Place, key: string | number): Place {
  return { pointer: `${at.pointer}/${pointerPart(key)}`, resource: at.resource };
}

/** The last part of a pointer when it can stand in an identifier, else nothing. */
function lastName(pointer: string): string {
  const last = pointer.slice(pointer.lastIndexOf("/") + 1);
  return /^[A-Za-z_]\w{0,60}$/.test(last) && last !== "__proto__" ? last : "";
}

/** `any` was a type in old drafts and says nothing. */
function typeMember(value: Json): [string, Json][] {
  const types = Array.isArray(value) ? [...new Set(value)] : value;
  if (types === "any" || (Array.isArray(types) && types.includes("any"))) return [];
  return [["type", types]];
}

/** `required: true` inside a property is how the oldest draft wrote it; the list of the object around it is what counts. */
function requiredFlag(value: Json): [string, Json][] {
  return typeof value === "boolean" ? [] : [["required", value]];
}

/** Draft-04 wrote an exclusive bound as a flag beside the bound. */
function boundMember(keyword: string, value: Json, raw: JsonObject): [string, Json][] {
  if (typeof value === "boolean") return [];
  const exclusive = keyword.startsWith("m") ? `exclusiveM${keyword.slice(1)}` : undefined;
  return [[exclusive !== undefined && raw[exclusive] === true ? exclusive : keyword, asDoubles(value)]];
}

/** OpenAPI's `nullable`: the value may also be null, whatever else the schema says. */
function withNull(raw: JsonObject, converted: JsonObject): JsonObject {
  if (raw["nullable"] !== true) return converted;
  const { title, description, default: preset, ...rest } = converted;
  const words = Object.fromEntries(
    Object.entries({ title, description, default: preset }).filter(([, word]) => word !== undefined),
  );
  return { ...(words as JsonObject), anyOf: [rest, { type: "null" }] };
}
