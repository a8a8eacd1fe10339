import { Ajv } from "ajv";
import { Ajv2019 } from "ajv/dist/2019.js";
import { Ajv2020 } from "ajv/dist/2020.js";
import Ajv04 from "ajv-draft-04";
import { expect, test } from "vitest";
import type { Json, JsonObject } from "../base/exact-json.ts";
import { compileValidator } from "./validator.ts";

function paths(schema: Json, value: Json): string[] {
  return compileValidator(schema)(value).map((fault) => `${fault.path} ${fault.message}`);
}

test("[semantics 4.1] all faults at once, each with its path", () => {
  const schema = {
    type: "object",
    required: ["title", "body"],
    additionalProperties: false,
    properties: {
      title: { type: "string" },
      body: { type: "string" },
      labels: { type: "array", items: { type: "string" } },
      "odd key": { enum: ["a", "b"] },
    },
  };
  expect(paths(schema, { title: 1, labels: ["x", 2, null], "odd key": "c", extra: true })).toEqual([
    "$.body is required",
    "$.extra is no property of this object",
    "$.title must be string, and is number",
    "$.labels[1] must be string, and is number",
    "$.labels[2] must be string, and is null",
    '$["odd key"] must be "a" or "b"',
  ]);
  expect(paths(schema, { title: "t", body: "b" })).toEqual([]);
});

test("no value stands in a message", () => {
  const schema = { type: "object", properties: { a: { type: "integer" }, b: { enum: ["x"] }, c: { maxLength: 2 } } };
  const text = JSON.stringify(compileValidator(schema)({ a: "planted-7f3a", b: "planted-7f3a", c: "planted-7f3a" }));
  expect(text).not.toContain("planted");
});

test("the faults of one value are bounded", () => {
  const schema = { type: "array", items: { type: "string" } };
  expect(compileValidator(schema)(Array.from({ length: 10_000 }, () => 1))).toHaveLength(50);
});

test("[case a03] the pattern that needs no u flag is enforced, the one that no safe engine takes is not", () => {
  const schema = {
    type: "object",
    required: ["site"],
    properties: {
      site: { type: "string", pattern: "^ftp\\:\\/\\/" },
      code: { type: "string", pattern: "(?i)^ab(?<=b)$" },
    },
  };
  expect(paths(schema, { site: "ftp://x", code: "anything" })).toEqual([]);
  expect(paths(schema, { site: "http://x" })).toEqual(['$.site must match pattern "^ftp\\:\\/\\/"']);
});

test("[case a03] keys of patternProperties: enforced where safe, else nothing is said of other keys either", () => {
  const safe = { patternProperties: { "^a\\:": { type: "number" } }, additionalProperties: false };
  expect(paths(safe, { "a:x": "text", b: 1 })).toHaveLength(2);
  const unsafe = { patternProperties: { "^a(?=b)": { type: "number" } }, additionalProperties: false };
  expect(paths(unsafe, { ab: "text", c: 1 })).toEqual([]);
});

test("a pattern that backtracks without end elsewhere is linear here", () => {
  const startedMs = performance.now();
  const validate = compileValidator({ type: "string", pattern: "^(a+)+$" });
  expect(validate(`${"a".repeat(50_000)}!`)).toHaveLength(1);
  expect(performance.now() - startedMs).toBeLessThan(2_000);
});

test.each(["(?P<year>\\d+)\\Z", "\\Aabc", "a{1,5000}", "(a)\\1"])("the pattern %j is not enforced", (pattern) => {
  expect(paths({ type: "string", pattern }, "?")).toEqual([]);
});

test("[case a07] an integer that no double holds is an integer", () => {
  const schema = { type: "object", properties: { id: { type: "integer", maximum: 9223372036854775807n } } };
  expect(paths(schema, { id: 9007199254740993n })).toEqual([]);
  expect(paths({ type: "string" }, 9007199254740993n)).toEqual(["$ must be string, and is number"]);
});

test("[semantics 2.2] defaults are never applied, nothing is converted", () => {
  const schema = { type: "object", required: ["a"], properties: { a: { type: "number", default: 5 } } };
  const value = {};
  expect(paths(schema, value)).toEqual(["$.a is required"]);
  expect(paths(schema, { a: "5" })).toEqual(["$.a must be number, and is string"]);
  expect(value).toEqual({});
});

test("[semantics 1.10] an empty enum is satisfied by nothing", () => {
  expect(paths({ type: "string", enum: [] }, "x")).toHaveLength(1);
});

test("[semantics 1.10] schemas with the same $id do not meet", () => {
  const first = { $id: "https://e.example/s", type: "object", properties: { a: { type: "string" } } };
  const second = { $id: "https://e.example/s", type: "object", properties: { a: { type: "number" } } };
  expect(paths(first, { a: "x" })).toEqual([]);
  expect(paths(second, { a: "x" })).toHaveLength(1);
});

test.each<[string, JsonObject, Json, boolean]>([
  ["into properties", { properties: { a: { type: "string" }, b: { $ref: "#/properties/a" } } }, { b: 1 }, false],
  ["into an unknown keyword", { shapes: { A: { type: "string" } }, $ref: "#/shapes/A" }, 1, false],
  ["an anchor", { $defs: { x: { $anchor: "here", type: "string" } }, $ref: "#here" }, 1, false],
  ["an embedded id", { $defs: { x: { $id: "other", type: "string" } }, $ref: "other" }, 1, false],
  ["escaped and encoded", { $defs: { "a/b c": { type: "string" } }, $ref: "#/$defs/a~1b%20c" }, 1, false],
  [
    "recursive",
    { $ref: "#/$defs/N", $defs: { N: { type: "object", properties: { n: { $ref: "#/$defs/N" } } } } },
    { n: { n: {} } },
    true,
  ],
  [
    "recursive, wrong",
    { $ref: "#/$defs/N", $defs: { N: { type: "object", properties: { n: { $ref: "#/$defs/N" } } } } },
    { n: { n: 5 } },
    false,
  ],
  ["$ref as a property's name", { properties: { $ref: { type: "string" } } }, { $ref: "#/nowhere" }, true],
])("[semantics 2.2] a reference %s", (_what, schema, value, fits) => {
  expect(compileValidator(schema)(value).length === 0).toBe(fits);
});

test("a value nested deeper than the stack is a fault, not a crash", () => {
  let value: Json = {};
  for (let level = 0; level < 200_000; level++) value = { n: value };
  expect(paths({ properties: { n: { $ref: "#" } } }, value)).toEqual(["$ is nested too deeply to be checked"]);
});

const ORACLES = {
  "http://json-schema.org/draft-04/schema#": new Ajv04.default({ strict: false, logger: false }),
  "http://json-schema.org/draft-06/schema#": new Ajv({
    strict: false,
    logger: false,
    meta: false,
    validateSchema: false,
  }),
  "http://json-schema.org/draft-07/schema#": new Ajv({ strict: false, logger: false }),
  "https://json-schema.org/draft/2019-09/schema": new Ajv2019({ strict: false, logger: false }),
  "https://json-schema.org/draft/2020-12/schema": new Ajv2020({ strict: false, logger: false }),
};
const DIALECT_CASES: readonly (readonly [string, JsonObject, readonly Json[]])[] = [
  ["draft-04", { type: "number", minimum: 1, exclusiveMinimum: true }, [1, 2, 0, "x"]],
  [
    "draft-04",
    { id: "https://e.example/a", definitions: { s: { type: "string" } }, $ref: "#/definitions/s" },
    ["x", 1],
  ],
  ["draft-06", { type: "number", exclusiveMinimum: 1 }, [1, 2]],
  [
    "draft-07",
    { items: [{ type: "string" }, { type: "number" }], additionalItems: false },
    [["x", 1], ["x", 1, 1], [1]],
  ],
  [
    "draft-07",
    { dependencies: { a: ["b"], c: { required: ["d"] } } },
    [{ a: 1 }, { a: 1, b: 1 }, { c: 1 }, { c: 1, d: 1 }],
  ],
  [
    "draft-07",
    JSON.parse('{"if":{"required":["a"]},"then":{"required":["b"]},"else":{"required":["c"]}}'),
    [{ a: 1 }, { a: 1, b: 1 }, {}, { c: 1 }],
  ],
  ["draft-07", { type: "string", nullable: true }, ["x", null, 1]],
  [
    "2019-09",
    { dependentRequired: { a: ["b"] }, unevaluatedProperties: false, properties: { a: {}, b: {} } },
    [{ a: 1 }, { a: 1, b: 1 }, { b: 1 }, { c: 1 }],
  ],
  ["2020-12", { prefixItems: [{ type: "string" }], items: { type: "number" } }, [["x", 1], [1], ["x", "y"], []]],
  ["2020-12", { contains: { type: "number" }, minContains: 2 }, [[1, 2], [1], []]],
  ["2020-12", { propertyNames: { maxLength: 2 }, minProperties: 1 }, [{}, { ab: 1 }, { abc: 1 }]],
];

test.each(DIALECT_CASES)(
  "[semantics 1.10] %s %j is judged as its own validator judges it",
  (dialect, schema, values) => {
    const [uri, oracle] = Object.entries(ORACLES).find(([name]) => name.includes(dialect)) ?? [];
    const expected = oracle?.compile(schema);
    for (const value of values) {
      const judged = compileValidator({ $schema: uri ?? "", ...schema })(value).length === 0;
      expect({ value, judged }).toEqual({ value, judged: expected?.(value) });
    }
  },
);

test.each<[string, JsonObject]>([
  ["draft-04 flag in 2020-12", { type: "number", minimum: 1, exclusiveMinimum: true }],
  ["required as a flag", { type: "object", properties: { a: { type: "string", required: true } } }],
  ["null for absent", { type: "object", properties: null, required: null, items: null }],
  ["id beside $schema", { $schema: "https://json-schema.org/draft/2020-12/schema", id: "x", type: "object" }],
  ["nullable alone", { properties: { a: { nullable: true } } }],
  ["an unknown format", { properties: { a: { type: "string", format: "cidrv4" } } }],
  ["type any", { properties: { a: { type: "any" } } }],
  ["a repeated $id", { properties: { a: { $id: "x", type: "string" }, b: { $id: "x", type: "string" } } }],
])("a schema that validators throw on can be used: %s", (_what, schema) => {
  const value = schema["type"] === "number" ? 2 : { a: "x" };
  expect(paths(schema, value)).toEqual([]);
});
