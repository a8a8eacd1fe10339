import fc from "fast-check";
import ts from "typescript";
import { expect, test } from "vitest";
import type { Json, JsonObject } from "../../src/base/exact-json.ts";
import { renderDeclarations } from "../../src/declarations/render.ts";
import { compileValidator } from "../../src/toolset/validator.ts";
import { checkScript } from "../../src/typecheck/check-script.ts";
import hostile from "../fixtures/hostile-words.json" with { type: "json" };
import { pinOf } from "./pins.ts";

/** What the compiler says of the declarations themselves, under `strict` and with no declaration file skipped. */
function declarationFaults(text: string): string[] {
  const name = "/rewind-tools.d.ts";
  const options: ts.CompilerOptions = {
    strict: true,
    noEmit: true,
    types: [],
    lib: ["lib.es2023.d.ts"],
    skipDefaultLibCheck: true,
  };
  const host = ts.createCompilerHost(options);
  const file = ts.createSourceFile(name, text, ts.ScriptTarget.ES2023, true);
  const program = ts.createProgram([name], options, {
    ...host,
    fileExists: (wanted) => wanted === name || host.fileExists(wanted),
    getSourceFile: (wanted, version) => (wanted === name ? file : library(host, wanted, version)),
  });
  const found = [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)];
  return found.map((diagnostic) => ts.flattenDiagnosticMessageText(diagnostic.messageText, "\n"));
}

const libraryFiles = new Map<string, ts.SourceFile | undefined>();
function library(host: ts.CompilerHost, name: string, version: ts.ScriptTarget | ts.CreateSourceFileOptions) {
  if (!libraryFiles.has(name)) libraryFiles.set(name, host.getSourceFile(name, version));
  return libraryFiles.get(name);
}

interface Sample {
  readonly schema: JsonObject;
  /** A value that is meant to fit, without keys that the schema does not name. */
  readonly value: Json;
}

const propertyName = fc.constantFrom(
  "a",
  "b",
  "kebab-key",
  "*/",
  "$ref",
  "valueOf",
  "constructor",
  "toString",
  "new\nline",
  '"',
  "\u2028",
);
const words = fc.constantFrom("*/ export const x = 1; /*", "\u2028\n*/", "plain", "@ts-expect-error", "`$" + "{x}`");
const scalar = fc.oneof<fc.Arbitrary<Sample>[]>(
  fc.string({ maxLength: 5 }).map((value) => ({ schema: { type: "string" }, value })),
  fc.integer().map((value) => ({ schema: { type: "integer" }, value })),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => ({ schema: { type: "number" }, value })),
  fc.constant({ schema: { type: "integer" }, value: 9007199254740993n }),
  fc.boolean().map((value) => ({ schema: { type: "boolean" }, value })),
  fc.constant({ schema: { type: ["string", "null"] }, value: null }),
  fc.constant({ schema: { type: "string", nullable: true, format: "*/", pattern: "*/" }, value: null }),
  fc.constantFrom<Json>("x", 1, null, true, "*/").map((value) => ({ schema: { enum: ["y", value, 2] }, value })),
  words.map((value) => ({ schema: { const: value, description: value, title: value, default: value }, value })),
);

const { sample } = fc.letrec<{ sample: Sample; object: Sample }>((tie) => ({
  sample: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    scalar,
    tie("object"),
    fc.tuple(tie("sample"), fc.boolean()).map(([{ schema, value }, isEmpty]) => ({
      schema: { type: "array", items: schema },
      value: isEmpty ? [] : [value, value],
    })),
    fc.tuple(tie("sample"), tie("sample"), fc.boolean()).map(([first, second, isClosed]) => ({
      schema: {
        type: "array",
        prefixItems: [first.schema, second.schema],
        minItems: 1,
        ...(isClosed ? { items: false } : {}),
      },
      value: isClosed ? [first.value] : [first.value, second.value, "rest"],
    })),
    fc
      .tuple(fc.constantFrom("anyOf", "oneOf"), tie("sample"), tie("sample"), words)
      .map(([keyword, first, second, description]) => ({
        schema: { [keyword]: [first.schema, second.schema], description },
        value: first.value,
      })),
    fc.tuple(tie("object"), tie("object")).map(([first, second]) => ({
      schema: { allOf: [first.schema, second.schema] },
      value: { ...(second.value as JsonObject), ...(first.value as JsonObject) },
    })),
    tie("sample").map(({ schema, value }) => ({
      schema: { $id: "https://e.example/nested", $defs: { "De f": schema }, $ref: "#/$defs/De%20f" },
      value,
    })),
    tie("sample").map(({ schema, value }) => ({
      schema: { type: "object", additionalProperties: schema },
      value: { any: value },
    })),
  ),
  object: fc
    .tuple(
      fc.uniqueArray(fc.tuple(propertyName, tie("sample"), fc.boolean()), { maxLength: 4, selector: ([name]) => name }),
      fc.constantFrom<Json | undefined>(undefined, true, false, { type: "boolean" }),
      words,
    )
    .map(([members, rest, description]) => ({
      schema: {
        type: "object",
        description,
        properties: Object.fromEntries(members.map(([name, { schema }]) => [name, schema])),
        required: members.filter(([, , isRequired]) => isRequired).map(([name]) => name),
        ...(rest === undefined ? {} : { additionalProperties: rest }),
      },
      value: Object.fromEntries([
        ...members.filter(([, , isRequired]) => isRequired).map(([name, { value }]) => [name, value]),
        ...(rest === true || typeof rest === "object" ? [["extra", true]] : []),
      ]),
    })),
}));

function tool(index: number, { schema }: Sample): JsonObject {
  const inputSchema = { type: "object", properties: { value: schema }, required: ["value"] };
  return {
    name: `t${index}`,
    description: "*/",
    inputSchema,
    outputSchema: { type: "object", properties: { value: schema } },
  };
}

function literal(value: Json): string {
  if (typeof value === "bigint") return `${value}n`;
  if (Array.isArray(value)) return `[${value.map(literal).join(", ")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  return `{ ${Object.entries(value)
    .map(([key, item]) => `${JSON.stringify(key)}: ${literal(item)}`)
    .join(", ")} }`;
}

test("[semantics 2.2] the rendered type takes what the validator takes, and always type-checks under strict", {
  timeout: 120_000,
}, () => {
  let taken = 0;
  fc.assert(
    fc.property(fc.array(sample, { minLength: 20, maxLength: 30 }), (samples) => {
      const pin = pinOf(samples.map((_, index) => tool(index, samples[index] as Sample)));
      expect(pin.content.tools).toHaveLength(samples.length);
      const { declarationText } = renderDeclarations(pin);
      expect(declarationFaults(declarationText)).toEqual([]);
      const fitting = samples.flatMap(({ value }, index) => {
        const tool = pin.content.tools.find(({ name }) => name === `t${index}`);
        const fits = tool !== undefined && compileValidator(tool.inputSchema)({ value }).length === 0;
        return fits ? [`await s.t${index}({ value: ${literal(value)} });`] : [];
      });
      taken += fitting.length;
      const script = ['import { github as s } from "rewind:tools";', ...fitting].join("\n");
      const result = checkScript({ declarationText, script });
      expect(result.ok ? [] : result.diagnostics.map(({ source, text }) => `${source} → ${text}`)).toEqual([]);
    }),
    { numRuns: 15 },
  );
  expect(taken).toBeGreaterThan(150);
});

const closed = fc.constantFrom<readonly [JsonObject, Json]>(
  [{ type: "string" }, 1],
  [{ type: "integer" }, "1"],
  [{ enum: ["a", "b"] }, "c"],
  [{ const: 1 }, 2],
  [{ type: "array", items: { type: "string" } }, [1]],
  [{ type: "array", prefixItems: [{ type: "string" }], items: false }, ["a", "b"]],
  [{ type: "object", properties: { a: { type: "string" } }, required: ["a"] }, {}],
  [{ type: "object", properties: { a: { type: "string" } }, additionalProperties: false }, { b: 1 }],
  [{ anyOf: [{ type: "string" }, { type: "null" }] }, 5],
  [
    {
      allOf: [
        { type: "object", required: ["a"] },
        { type: "object", required: ["b"] },
      ],
    },
    { a: 1 },
  ],
  [{ type: "object", anyOf: [{ required: ["a"] }, { required: ["b"] }] }, {}],
  [{ type: "string", enum: [] }, "x"],
  [{ not: {} }, 1],
);

test("[semantics 2.2] what the validator refuses of a closed schema, the type refuses too", () => {
  fc.assert(
    fc.property(fc.uniqueArray(closed, { minLength: 5, maxLength: 13 }), (cases) => {
      const { declarationText } = renderDeclarations(
        pinOf(cases.map(([schema], index) => tool(index, { schema, value: null }))),
      );
      cases.forEach(([schema, value], index) => {
        expect(compileValidator(schema)(value)).not.toEqual([]);
        const script = `import { github as s } from "rewind:tools";\nawait s.t${index}({ value: ${literal(value)} });`;
        expect(checkScript({ declarationText, script }).ok).toBe(false);
      });
    }),
    { numRuns: 1 },
  );
});

test("[case b01] [case b03] [case a05] the declarations of the cases type-check, and so do their calls", () => {
  const tools = [
    hostile,
    {
      name: "b01",
      inputSchema: {
        type: "object",
        properties: { note: { type: "string" }, size: { type: "integer" } },
        additionalProperties: { type: "boolean" },
      },
    },
    {
      name: "walk",
      outputSchema: {
        $ref: "#/$defs/Node",
        $defs: { Node: { type: "object", properties: { next: { $ref: "#/$defs/Node" } } } },
      },
    },
  ];
  const { declarationText } = renderDeclarations(pinOf(tools));
  expect(declarationFaults(declarationText)).toEqual([]);
  const call = (text: string) =>
    checkScript({ declarationText, script: `import { github } from "rewind:tools";\n${text}` }).ok;
  expect(call('await github.b01({ note: "x", draft: true });')).toBe(true);
  expect(call("await github.b01({ note: 1 });")).toBe(false);
  expect(call('await github.find_files({ mode: "*/", "we*/ird \\"key\\"\\n": true });')).toBe(true);
  expect(call("const r = await github.walk(); export const result = r.next?.next?.next;")).toBe(true);
  expect(call("const r = await github.walk(); export const result = r.nxt;")).toBe(false);
});
