import { canonicalJson } from "../base/canonical-json.ts";
import { digestJson } from "../base/digest.ts";
import type { Json, JsonObject } from "../base/exact-json.ts";
import type { PinnedTool } from "./pin.ts";
import { SCHEMA_KEYWORDS, SCHEMA_LIST_KEYWORDS, SCHEMA_MAP_KEYWORDS } from "./schema-dialect.ts";
import { isObject } from "./schema-value.ts";

/** Keywords for people. Real servers put the time of day into them. */
const WORD_KEYWORDS: ReadonlySet<string> = new Set(["title", "description", "examples", "default", "$comment"]);
/** Lists whose order says nothing: servers that keep them in hash maps send them in another order each time. */
const SET_KEYWORDS: ReadonlySet<string> = new Set(["required", "enum", "type"]);

/**
 * What a tool promises to its callers: both schemas without words, and its newt tags (semantics 1.9). Drift is a difference
 * of contracts.
 */
export function contractOf(tool: PinnedTool): JsonObject {
  return {
    inputSchema: withoutWords(tool.inputSchema),
    ...(tool.outputSchema === undefined ? {} : { outputSchema: withoutWords(tool.outputSchema) }),
    tags: tool.tags,
  };
}

/** The digest of a tool's contract. */
export function contractDigest(tool: PinnedTool): string {
  return digestJson(contractOf(tool));
}

/** A schema without words, wherever a schema stands in it. What is named by data (a property called `title`) stays. */
function withoutWords(schema: Json): Json {
  if (Array.isArray(schema)) return schema.map(withoutWords);
  if (!isObject(schema)) return schema;
  const members = Object.entries(schema)
    .filter(([keyword]) => !WORD_KEYWORDS.has(keyword))
    .map(([keyword, value]): [string, Json] => [keyword, keywordWithoutWords(keyword, value)]);
  return Object.fromEntries(members);
}

function keywordWithoutWords(keyword: string, value: Json): Json {
  if (SET_KEYWORDS.has(keyword) && Array.isArray(value)) return sorted(value);
  if (SCHEMA_KEYWORDS.has(keyword) || SCHEMA_LIST_KEYWORDS.has(keyword)) return withoutWords(value);
  const isMap = SCHEMA_MAP_KEYWORDS.has(keyword) || keyword === "dependencies";
  if (!isMap || !isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, withoutWords(item)]));
}

function sorted(list: readonly Json[]): Json[] {
  const byText = list.map((item): [string, Json] => [canonicalJson(item), item]);
  return byText.sort(([left], [right]) => (left < right ? -1 : left > right ? 1 : 0)).map(([, item]) => item);
}
