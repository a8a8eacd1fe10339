import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { makePin } from "../toolset/make-pin.ts";
import type { Pin } from "../toolset/pin.ts";
import { commentLines, oneLine } from "./escape.ts";
import { renderDeclarations } from "./render.ts";

function pinOf(tools: readonly unknown[], name = "s"): Pin {
  const server = { name, url: `http://${name}/`, protocol: "Auto", auth: "None", headers: {} };
  const made = makePin({ servers: [{ server, selection: {}, tools }], policies: [], limits: {}, reservedNames: [] });
  if (!made.ok) throw new Error(JSON.stringify(made.faults));
  return made.pin;
}

/** The prompt's line of one tool, which shows its types in full. */
function line(tool: Record<string, unknown>): string {
  const { promptText } = renderDeclarations(pinOf([{ name: "t", ...tool }]));
  return promptText.split("\n").find((text) => text.startsWith("s.t") || text.startsWith("s[")) ?? "";
}

const args = (schema: unknown) => /^s\.t\((.*)\) → unknown$/.exec(line({ inputSchema: schema }))?.[1];
const property = (schema: unknown) => {
  return /^\{ p\?: (.*) \}$/.exec(args({ type: "object", properties: { p: schema } }) ?? "")?.[1];
};
const result = (schema: unknown) => /^s\.t\(.*?\) → (.*)$/.exec(line({ outputSchema: schema }))?.[1];

test.each<[unknown, string]>([
  [{ type: "string" }, "string"],
  [{ type: "integer" }, "number"],
  [{ type: ["string", "null"] }, "string | null"],
  [{ type: "string", nullable: true }, "string | null"],
  [{ enum: ["a", 1, null, true, { b: [1] }] }, '"a" | 1 | null | true | { b: [1] }'],
  [{ type: "string", enum: ["a", 1] }, '"a"'],
  [{ enum: [] }, "never"],
  [{ const: "x" }, '"x"'],
  [true, "unknown"],
  [false, "never"],
  [{}, "unknown"],
  [{ type: "array" }, "unknown[]"],
  [{ type: "array", items: { type: ["string", "null"] } }, "(string | null)[]"],
  [
    { type: "array", prefixItems: [{ type: "string" }, { type: "number" }], minItems: 1 },
    "[string, number?, ...unknown[]]",
  ],
  [{ type: "array", prefixItems: [{ type: "string" }], minItems: 1, items: false }, "[string]"],
  [
    { type: "array", items: [{ type: "string" }, true], additionalItems: { type: "null" } },
    "[string?, unknown?, ...null[]]",
  ],
  [{ type: "object" }, "{ [key: string]: unknown }"],
  [{ type: "object", properties: {} }, "{ [key: string]: never }"],
  [{ type: "object", additionalProperties: false }, "{ [key: string]: never }"],
  [{ type: "object", additionalProperties: { type: "number" } }, "{ [key: string]: number }"],
  [
    { type: "object", patternProperties: { "^x": { type: "string" } }, additionalProperties: false },
    "{ [key: string]: string }",
  ],
  [{ type: "object", properties: { a: {} }, additionalProperties: true }, "{ a?: unknown, [key: string]: unknown }"],
  [{ type: "object", properties: { a: { default: 1 } }, required: ["a", "b"] }, "{ a: unknown, b: unknown }"],
  [{ anyOf: [{ type: "string" }, { type: "object" }, { type: "null" }] }, "string | { [key: string]: unknown } | null"],
  [
    {
      allOf: [
        { type: "object", properties: { a: true } },
        { type: "object", properties: { b: true } },
      ],
    },
    "{ a?: unknown } & { b?: unknown }",
  ],
  [
    { type: "object", properties: { a: { type: "string" } }, anyOf: [{ required: ["a"] }, { required: ["b"] }] },
    "{ a?: string } & ({ a: unknown } | { b: unknown })",
  ],
  [
    { type: "object", oneOf: [{ properties: { a: true } }, { properties: { b: true } }] },
    "{ a?: unknown } | { b?: unknown }",
  ],
  [{ not: {} }, "never"],
  [{ not: { type: "string" } }, "unknown"],
])("[semantics 2.2] %j is %s", (schema, expected) => {
  expect(property(schema)).toBe(expected);
});

test("[semantics 2.2] if, then and else narrow to a union where they can", () => {
  const schema = JSON.parse(
    '{"type":"object","if":{"properties":{"k":{"const":"a"}},"required":["k"]},"then":{"required":["x"]},"else":{"required":["y"]}}',
  );
  expect(property(schema)).toBe('({ k: "a" } & { x: unknown }) | { y: unknown }');
});

test("[semantics 2.2] references to anywhere, recursive too; the prompt writes them out once", () => {
  const node = { type: "object", properties: { next: { $ref: "#/$defs/Node" }, name: { $ref: "#/properties/name" } } };
  const schema = {
    type: "object",
    properties: { name: { type: "string" }, node: { $ref: "#/$defs/Node" } },
    $defs: { Node: node },
  };
  expect(args(schema)).toBe("{ name?: string, node?: { next?: …, name?: string } }");
  const { declarationText } = renderDeclarations(pinOf([{ name: "t", inputSchema: schema }]));
  expect(declarationText).toContain("type s_t_Args_Node = { next?: s_t_Args_Node; name?: s_t_Args_name };");
});

test("[semantics 2.2] names inside properties are data", () => {
  const properties = JSON.parse(
    '{"$ref":{"type":"string"},"__proto__":{"type":"number"},"constructor":{"type":"null"}}',
  );
  expect(args({ type: "object", properties })).toBe('{ $ref?: string, "__proto__"?: number, "constructor"?: null }');
});

test("[case b01] named properties keep their types beside additional ones", () => {
  const properties = { note: { type: "string" }, size: { type: "integer" } };
  expect(args({ type: "object", properties, additionalProperties: { type: "boolean" } })).toBe(
    "{ note?: string, size?: number, [key: string]: unknown }",
  );
});

test("[case b05] arguments take other keys only where the schema says so", () => {
  expect(args({ type: "object", properties: { title: { type: "string" } } })).toBe("{ title?: string }");
});

test("[semantics 4.6] a result that FastMCP wraps is shown as scripts get it", () => {
  const outputSchema = { type: "object", properties: { result: { type: "string" } }, "x-fastmcp-wrap-result": true };
  expect(result(outputSchema)).toBe("string");
  expect(result({ ...outputSchema, "x-fastmcp-wrap-result": false })).toBe("{ result?: string }");
});

test("[semantics 2.2] an integer argument may be a bigint, a result is a number", () => {
  const inputSchema = { type: "object", properties: { id: { type: "integer" } } };
  const { declarationText } = renderDeclarations(pinOf([{ name: "t", inputSchema, outputSchema: inputSchema }]));
  expect(declarationText).toContain("t(args?: { id?: number | bigint }): Promise<{ id?: number }>;");
});

test("[semantics 1.6] names that are no identifiers, and words that are reserved", () => {
  const { declarationText, promptText } = renderDeclarations(
    pinOf(["list-issues", "delete", "new", 'a"b'].map((name) => ({ name }))),
  );
  expect(promptText).toContain('s["list-issues"](');
  expect(promptText).toContain("s.delete(");
  expect(declarationText).toContain('"new"(args?');
  expect(declarationText).toContain('"a\\"b"(args?');
});

test("[case b03] no text of a schema leaves its comment, its literal or its line", () => {
  const tool = JSON.parse(readFileSync(new URL("../../test/fixtures/hostile-words.json", import.meta.url), "utf8"));
  const { declarationText, promptText } = renderDeclarations(pinOf([tool, { name: "other" }]));
  const bare = declarationText.replace(/\/\*[\s\S]*?\*\//g, "").replace(/"(?:[^"\\\n]|\\.)*"/g, '""');
  expect(bare).not.toMatch(/leaked|delete_repo|\bany\b|\*\//);
  expect(promptText.split(/[\r\n\u2028\u2029]/).filter((text) => text.startsWith("s."))).toHaveLength(2);
  expect(promptText).not.toMatch(/[\r\u2028\u2029]/);
});

test("a comment shows control and formatting characters, and starts no directive", () => {
  expect(commentLines(`a\u202eb\u0007*/ @${"ts"}-ignore\n\n\n\u2028c`, 100)).toEqual([
    "a\\u202eb\\u0007*\\/ @ ts-ignore",
    "",
    "c",
  ]);
});

test("[semantics 2.2] descriptions are cut: 2,000 characters in declarations, 200 in a prompt", () => {
  expect(commentLines("x".repeat(5_000), 2_000).join("")).toHaveLength(2_000);
  expect(oneLine("y ".repeat(5_000), 200)).toHaveLength(200);
  expect(line({ description: "z".repeat(5_000) }).length).toBeLessThan(300);
});

test("declarations that no ConfigMap would hold lose their words first", () => {
  const tools = Array.from({ length: 800 }, (_, index) => ({ name: `t${index}`, description: "word ".repeat(300) }));
  const { declarationText, promptText } = renderDeclarations(pinOf(tools));
  expect(declarationText.length).toBeLessThan(700 * 1024);
  expect(promptText).not.toContain("word");
  expect(declarationText).toContain("t799(");
});

test("a schema whose written-out types explode stays one bounded line in the prompt", () => {
  const $defs = Object.fromEntries(
    Array.from({ length: 30 }, (_, index) => {
      const next = index === 29 ? { type: "string" } : { $ref: `#/$defs/D${index + 1}` };
      return [`D${index}`, { type: "object", properties: { a: next, b: next } }];
    }),
  );
  const text = line({ inputSchema: { type: "object", properties: { a: { $ref: "#/$defs/D0" } }, $defs } });
  expect(text.length).toBeLessThan(20_000);
});

test("[semantics 2.2] names of types that read alike are told apart", () => {
  const inputSchema = { type: "object", properties: { a: { $ref: "#/$defs/N" } }, $defs: { N: { type: "string" } } };
  const { declarationText } = renderDeclarations(pinOf(["a-b", "a_b", "a.b"].map((name) => ({ name, inputSchema }))));
  const names = [...declarationText.matchAll(/ {2}type (\w+) =/g)].map((match) => match[1]);
  expect(new Set(names).size).toBe(3);
  expect(names).toContain("s_a_b_Args_N");
});
