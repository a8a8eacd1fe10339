import type { JsonObject } from "../base/exact-json.ts";

/** The year or number of a dialect, so that they can be compared. */
export type Dialect = 4 | 6 | 7 | 2019 | 2020;

const DIALECT_NAMES: readonly (readonly [text: string, dialect: Dialect])[] = [
  ["draft-03", 4],
  ["draft-04", 4],
  ["draft-06", 6],
  ["draft-07", 7],
  ["2019-09", 2019],
  ["2020-12", 2020],
];

/** The dialect a schema's `$schema` names; 2020-12 without one, and for one that nobody knows (semantics 1.10). */
export function dialectOf(schema: JsonObject): Dialect {
  const named = schema["$schema"];
  if (typeof named !== "string") return 2020;
  return DIALECT_NAMES.find(([text]) => named.includes(text))?.[1] ?? 2020;
}

/** The dialect each later keyword came with: an earlier one ignores it, as its own validators do. */
const KEYWORD_SINCE: ReadonlyMap<string, Dialect> = new Map<string, Dialect>([
  ["const", 6],
  ["contains", 6],
  ["propertyNames", 6],
  ["if", 7],
  ["then", 7],
  ["else", 7],
  ["dependentRequired", 2019],
  ["dependentSchemas", 2019],
  ["unevaluatedProperties", 2019],
  ["unevaluatedItems", 2019],
  ["minContains", 2019],
  ["maxContains", 2019],
  ["prefixItems", 2020],
]);

/** Whether a schema of this dialect gives the keyword a meaning. */
export function isKeywordOf(dialect: Dialect, keyword: string): boolean {
  return dialect >= (KEYWORD_SINCE.get(keyword) ?? 4);
}

/** Keywords whose value is one schema. */
export const SCHEMA_KEYWORDS: ReadonlySet<string> = new Set([
  "additionalItems",
  "additionalProperties",
  "contains",
  "else",
  "if",
  "items",
  "not",
  "propertyNames",
  "then",
  "unevaluatedItems",
  "unevaluatedProperties",
]);

/** Keywords whose value is a list of schemas. */
export const SCHEMA_LIST_KEYWORDS: ReadonlySet<string> = new Set(["allOf", "anyOf", "oneOf", "prefixItems"]);

/** Keywords whose value maps names to schemas: the names are data. */
export const SCHEMA_MAP_KEYWORDS: ReadonlySet<string> = new Set([
  "$defs",
  "definitions",
  "dependentSchemas",
  "patternProperties",
  "properties",
]);
