import { afterAll, expect, test } from "vitest";
import { renderDeclarations } from "../../src/declarations/render.ts";
import { removedGlobals, scriptLibrary } from "../../src/sandbox/globals-declaration.ts";
import { type CheckResult, createScriptChecker } from "../../src/typecheck/checker.ts";
import { pinOf } from "./pins.ts";

const { declarationText } = renderDeclarations(
  pinOf([
    {
      name: "create_issue",
      inputSchema: {
        type: "object",
        properties: { title: { type: "string" }, labels: { type: "array", items: { type: "string" } } },
      },
      outputSchema: { type: "object", properties: { number: { type: "integer" } }, required: ["number"] },
    },
    { name: "list-issues", inputSchema: { type: "object", properties: { state: { enum: ["open", "closed"] } } } },
    { name: "drop", inputSchema: { type: "object", properties: { id: { type: "integer" } }, required: ["id"] } },
    { name: "delete" },
  ]),
);
const checker = createScriptChecker();
afterAll(() => checker.close());

function check(script: string): Promise<CheckResult> {
  return checker.check({ declarationText, script });
}

async function faults(script: string): Promise<string[]> {
  const result = await check(script);
  return result.ok ? [] : result.diagnostics.map(({ line, column, text }) => `${line}:${column} ${text}`);
}

async function hints(script: string): Promise<(string | undefined)[]> {
  const result = await check(script);
  return result.ok ? [] : result.diagnostics.map(({ hint }) => hint);
}

const IMPORT = 'import { github } from "rewind:tools";\n';

test("[semantics 3.1] a script that type-checks comes back as JavaScript with every position kept", async () => {
  const script = `${IMPORT}export default async function (input: { title: string }): Promise<number> {
  const made = await github.create_issue({ title: input.title as string, labels: ["x"] satisfies string[] });
  return made.number;
}
`;
  const result = await check(script);
  expect(result).toMatchObject({ ok: true, warnings: [] });
  const source = result.ok ? result.moduleSource : "";
  expect(source.length).toBe(script.length);
  expect(source.indexOf("github.create_issue")).toBe(script.indexOf("github.create_issue"));
  expect(source).not.toMatch(/: \{ title|as string|satisfies/);
});

test("[case b05] a misspelt argument is a type error with line, column and the offending line", async () => {
  expect(await check(`${IMPORT}await github.create_issue({ titel: "x" });`)).toEqual({
    ok: false,
    code: "ScriptInvalid",
    diagnostics: [
      {
        line: 2,
        column: 29,
        text: expect.stringMatching(/'titel' does not exist .* Did you mean to write 'title'/),
        source: 'await github.create_issue({ titel: "x" });',
      },
    ],
  });
});

test.each([
  ["a misspelt tool", `${IMPORT}await github.create_isue({});`, "Did you mean create_issue?"],
  ["a tool in another case", `${IMPORT}await github.createIssue({});`, "Did you mean create_issue?"],
  ["a tool that is none", `${IMPORT}await github.frobnicate();`, "There is: create_issue, delete, drop, list-issues."],
  ["a misspelt group", 'import { githb } from "rewind:tools";\nawait githb.drop({ id: 1 });', "Did you mean github?"],
  ["a module of Node", 'import fs from "node:fs";\nfs;', 'A script imports only from "rewind:tools" and "rewind".'],
  ["an import at run time", 'await import("rewind");', "Write an import declaration at the top."],
  ["[case f05] Intl", 'new Intl.NumberFormat("de");', expect.stringContaining("Intl does not exist")],
  ["[semantics 3.3] fetch", 'await fetch("https://e.example");', expect.stringContaining("no network")],
  ["[semantics 3.3] setTimeout", "setTimeout(() => {}, 5);", expect.stringContaining("sleep")],
  ["an enum", "enum A { B }", expect.stringContaining("union of literals")],
  ["a namespace", "namespace A { export const b = 1 }", expect.stringContaining("union of literals")],
  [
    "a parameter property",
    "class A { constructor(readonly b: string) {} }",
    expect.stringContaining("union of literals"),
  ],
  [
    "a type imported as a value",
    'import { ToolErrorCode } from "rewind";\nlet c: ToolErrorCode;',
    "Write `import type`: types are stripped, imports are not.",
  ],
  ["a decorator", "const d = (x: unknown, c: unknown) => {};\n@d class A {}", "Call the function instead."],
])("[semantics 3.2] %s is refused with a hint", async (_what, script, hint) => {
  expect(await hints(script)).toContainEqual(hint);
});

test.each([
  ["const x: number = 'a';", "1:7 Type 'string' is not assignable to type 'number'."],
  ["let x = ;", "1:9 Expression expected."],
  ["\n\n  /* ü😀 */ nope();", "3:13 Cannot find name 'nope'."],
  ['/// <reference lib="dom" />\ndocument.title;', expect.stringContaining("Cannot find name 'document'")],
  ["new WeakRef({});", expect.stringContaining("Cannot find name 'WeakRef'")],
  ["new SharedArrayBuffer(1);", expect.stringContaining("SharedArrayBuffer")],
  ["process.exit();", expect.stringContaining("process")],
  ['(5).toLocaleString("de-DE");', "1:20 Expected 0 arguments, but got 1."],
  [`${IMPORT}github["list-issues"]({ state: "opn" });`, expect.stringMatching(/^2:/)],
  [`${IMPORT}github.drop({});`, expect.stringContaining("'id' is missing")],
])("[semantics 3.2] %j is refused at its place", async (script, fault) => {
  expect(await faults(script)).toContainEqual(fault);
});

test.each([
  [`${IMPORT}await github.drop({ id: 9007199254740993n });`],
  [`${IMPORT}await github.delete(); export const result = 1;`],
  [
    'import { sleep, signal, run, ToolError } from "rewind";\nawait sleep("1h"); await signal("x", { timeout: 5 }); if (run.id === "") throw new ToolError("m", { code: "Rejected", tool: "t" });',
  ],
  ["export const result = [1, 2].toSorted().map((n) => n.toLocaleString()); console.log(crypto.randomUUID());"],
  ["const console = 1; const Array = [console]; await Promise.all(Array);"],
])("[semantics 3.4] script %#: accepted", async (script) => {
  expect(await faults(script)).toEqual([]);
});

test("[semantics 3.3] scripts see the globals the sandbox offers, and none that it takes away", async () => {
  expect(await faults(scriptLibrary.map((name) => `void ${name};`).join("\n"))).toEqual([]);
  const found = await faults(removedGlobals.map((name) => `void ${name};`).join("\n"));
  expect(found).toEqual(removedGlobals.map((name, index) => `${index + 1}:6 Cannot find name '${name}'.`));
});

test("[semantics 3.2] a floating call is a warning, never a refusal", async () => {
  const script = `${IMPORT}github.delete();
await github.delete();
void github.delete();
github.delete().catch(() => 0);
github.delete().then(() => 1);
const later = github.delete();
export const result = [later].length;`;
  const result = await check(script);
  expect(result.ok && result.warnings.map(({ line, column, source }) => [line, column, source])).toEqual([
    [2, 1, "github.delete();"],
    [6, 1, "github.delete().then(() => 1);"],
  ]);
});

test("[semantics 3.5] a script of more than 256 KiB is refused unread", async () => {
  expect(await check(`//${"x".repeat(256 * 1024)}`)).toMatchObject({ ok: false, code: "ScriptInvalid" });
});

test("the faults of one script are bounded", async () => {
  const result = await check("nope();\n".repeat(1_000));
  expect(result.ok ? [] : result.diagnostics).toHaveLength(50);
});

test("checks asked for at once are all answered, each by its own script", async () => {
  const results = await Promise.all([1, 2, 3, 4].map((line) => check(`${"\n".repeat(line)}nope();`)));
  expect(results.map((result) => (result.ok ? 0 : result.diagnostics[0]?.line))).toEqual([2, 3, 4, 5]);
});

test("a script nested deeper than the compiler's stack is too complex, and the next one is checked", async () => {
  const result = await check(`export const result = ${"(".repeat(100_000)}1${")".repeat(100_000)};`);
  expect(result).toMatchObject({ ok: false });
  expect(await faults("export const result = 2;")).toEqual([]);
});

test("after close nothing is started again", async () => {
  const closed = createScriptChecker();
  await closed.close();
  await expect(closed.check({ declarationText, script: "1;" })).rejects.toThrow("closed");
});
