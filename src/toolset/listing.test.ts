import { expect, test } from "vitest";
import { normaliseListing } from "./listing.ts";

const OBJECT = { type: "object" };

test("[semantics 1.1] one entry that cannot be read never costs the others", () => {
  const listing = normaliseListing("s", [null, 5, { inputSchema: OBJECT }, { name: "" }, { name: "ok" }, "text"]);
  expect(listing.tools.map((tool) => tool.name)).toEqual(["ok"]);
  expect(listing.refused.map((entry) => entry.tool)).toEqual(["s[0]", "s[1]", "s[2]", "s[3]", "s[5]"]);
});

test.each([[undefined], [null], [true], [{}], [{ properties: { a: { type: "string" } } }]])(
  "[semantics 1.5] the input schema %j means an object",
  (inputSchema) => {
    const listing = normaliseListing("s", [{ name: "t", inputSchema }]);
    expect(listing.refused).toEqual([]);
    expect(listing.tools).toHaveLength(1);
  },
);

test.each([
  ["a string", { type: "string" }, "takes no object"],
  ["nothing", false, "takes nothing"],
  ["text", "object", "is no schema"],
  ["a list", [], "is no schema"],
  ["an unknown type", { type: "strin" }, "#/type"],
  ["a property that is none", { type: "object", properties: { a: 5 } }, "#/properties/a is no schema"],
  ["a broken bound", { type: "object", properties: { a: { minLength: -1 } } }, "#/properties/a/minLength"],
  ["a dangling reference", { type: "object", properties: { a: { $ref: "#/$defs/X" } } }, '"#/$defs/X" points nowhere'],
  ["a remote reference", { type: "object", properties: { a: { $ref: "https://e.example/x" } } }, "nothing is fetched"],
  ["a reference to itself", { $ref: "#/$defs/A", $defs: { A: { anyOf: [{ $ref: "#/$defs/A" }] } } }, "without end"],
  ["the root in itself", { type: "object", allOf: [{ $ref: "#" }] }, "without end"],
  ["a lone surrogate", { type: "object", properties: { a: { const: "\ud800" } } }, "lone surrogate"],
  ["too deep", deep(70), "deeper than 64"],
  ["too many values", { type: "object", properties: many(30_000) }, "more than 20000 values"],
  ["too long", { type: "object", description: "x".repeat(600_000) }, "longer than 524288"],
  ["too many definitions", chain(600), "more than 500 definitions"],
])("[semantics 1.5] refused alone: %s", (_what, inputSchema, message) => {
  const listing = normaliseListing("s", [{ name: "bad", inputSchema }, { name: "good" }]);
  expect(listing.tools.map((tool) => tool.name)).toEqual(["good"]);
  expect(listing.refused).toEqual([
    { tool: "s.bad", reason: "SchemaUnsupported", message: expect.stringContaining(message) },
  ]);
});

test("[case a03] a pattern that no safe engine takes is pinned and listed as a warning", () => {
  const inputSchema = {
    type: "object",
    required: ["site"],
    properties: {
      site: { type: "string", pattern: "^ftp\\:\\/\\/" },
      code: { type: "string", pattern: "(?i)^ab(?<=b)$" },
    },
  };
  const listing = normaliseListing("s", [{ name: "t", inputSchema }]);
  expect(listing.tools[0]?.inputSchema).toEqual(inputSchema);
  expect(listing.warnings).toEqual([
    { tool: "s.t", message: expect.stringMatching(/"\(\?i\)\^ab\(\?<=b\)\$" at #\/properties\/code is not enforced/) },
  ]);
});

test("[case a05] a dangling output schema is set aside alone, a circular one is kept", () => {
  const board = { type: "object", properties: { parent: { $ref: "#/$defs/Board" } } };
  const node = {
    $ref: "#/$defs/Node",
    $defs: { Node: { type: "object", properties: { next: { $ref: "#/$defs/Node" } } } },
  };
  const listing = normaliseListing("s", [
    { name: "make_board", inputSchema: OBJECT, outputSchema: board },
    { name: "walk", inputSchema: OBJECT, outputSchema: node },
  ]);
  expect(listing.tools.map((tool) => tool.outputSchema)).toEqual([undefined, node]);
  expect(listing.warnings).toEqual([{ tool: "s.make_board", message: expect.stringContaining("#/$defs/Board") }]);
});

test("[semantics 1.2] icons, unknown keys and foreign _meta do not count; annotations, execution and newt tags do", () => {
  const entry = {
    name: "t",
    title: "T",
    icons: [{ src: "x" }],
    strange: 1,
    annotations: { readOnlyHint: true },
    execution: { taskSupport: "optional" },
    _meta: { "newt/retention": "ephemeral", "other/key": 1 },
  };
  expect(normaliseListing("s", [entry]).tools).toEqual([
    {
      group: "s",
      name: "t",
      title: "T",
      inputSchema: { type: "object" },
      annotations: { readOnlyHint: true },
      execution: { taskSupport: "optional" },
      tags: { "newt/retention": "ephemeral" },
    },
  ]);
});

test("words of a wrong type or with half a surrogate pair cost nothing but themselves", () => {
  const listing = normaliseListing("s", [{ name: "t", title: 5, description: "a\ud800b" }]);
  expect(listing.tools[0]?.title).toBeUndefined();
  expect(listing.tools[0]?.description).toBe("a\ufffdb");
  expect(listing.warnings).toEqual([{ tool: "s.t", message: "the title is left out: it is no text" }]);
});

test("tools that the spec leaves out are not even looked at", () => {
  const listing = normaliseListing("s", [{ name: "delete_x", inputSchema: 5 }, { name: "get" }], {
    exclude: ["delete_*"],
  });
  expect(listing.refused).toEqual([]);
  expect(listing.tools.map((tool) => tool.name)).toEqual(["get"]);
});

function deep(levels: number): unknown {
  let schema: unknown = { type: "string" };
  for (let level = 0; level < levels; level++) schema = { type: "array", items: schema };
  return { type: "object", properties: { a: schema } };
}

function many(count: number): Record<string, unknown> {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`p${index}`, true]));
}

function chain(length: number): unknown {
  const link = (index: number) => [`D${index}`, { items: { $ref: `#/$defs/D${index + 1}` } }];
  const $defs = Object.fromEntries([...Array.from({ length }, (_, index) => link(index)), [`D${length}`, {}]]);
  return { type: "object", properties: { a: { $ref: "#/$defs/D0" } }, $defs };
}
