import { execFileSync } from "node:child_process";
import { afterAll, describe, expect, it } from "vitest";
import { createSandboxPool } from "../../src/sandbox/pool.ts";
import type { Delivery, ScriptSpec, Turn } from "../../src/sandbox/port.ts";
import { failure, result, scriptSpec } from "./script-spec.ts";

const pool = createSandboxPool();
afterAll(() => pool.close());

/** All turns of a script that is told these deliveries, without their CPU times. */
async function turnsOf(spec: ScriptSpec, deliveries: readonly Delivery[] = []): Promise<Omit<Turn, "cpuMs">[]> {
  const { script, firstTurn } = await pool.start(spec);
  const turns = [firstTurn];
  for (const delivery of deliveries) turns.push(await script.deliver(delivery));
  script.dispose();
  return turns.map(({ cpuMs: _cpuMs, ...turn }) => turn);
}

async function lastState(source: string, ...deliveries: Delivery[]) {
  return (await turnsOf(scriptSpec(source), deliveries)).at(-1)?.state;
}

async function resultOf(expression: string): Promise<unknown> {
  const state = await lastState(`export default async () => (${expression})`);
  return state?.kind === "returned" ? state.valueText : state;
}

const withDb = (body: string) => `import { db } from "rewind:tools";\nexport default async (input) => { ${body} }`;

describe("values [semantics 3.8]", () => {
  it("keeps integers that no double holds, in both directions [case a07]", async () => {
    const source = withDb("const r = await db.find({}); await db.drop({ id: r.id, kind: typeof r.id })");
    const turns = await turnsOf(scriptSpec(source), [result(1, '{"id":9007199254740993}')]);
    expect(turns[1]?.commands).toEqual([
      { kind: "call", ref: 2, tool: "db.drop", argumentsText: '{"id":9007199254740993,"kind":"bigint"}', line: 2 },
    ]);
  });

  it.each([
    '"ok\\u0000end"',
    '"\\ud800"',
    '{"__proto__":{"a":1},"constructor":1}',
    "[1,-0.5,1e21,null]",
    '"integer:1234567890123456789"',
  ])("delivers %s exactly [case d03]", async (text) => {
    const returned = await lastState(withDb("const v = await db.find({}); return JSON.stringify(v)"), result(1, text));
    expect(returned).toMatchObject({ kind: "returned" });
    expect(JSON.parse(JSON.parse((returned as { valueText: string }).valueText))).toEqual(JSON.parse(text));
  });

  it.each([
    ["new Map()", "", "a Map"],
    ["{ a: [1, undefined] }", "/a/1", "undefined"],
    ["{ a: { 'b/c': Number.NaN } }", "/a/b~1c", "NaN"],
    ["{ f: () => 1 }", "/f", "a function"],
    ["{ s: Symbol('x') }", "/s", "a symbol"],
    ["{ q: '\\ud800' }", "/q", "a lone surrogate"],
    ["{ t: new Uint8Array(1) }", "/t", "a typed array"],
    ["{ p: Promise.resolve(1) }", "/p", "a Promise"],
    ["(() => { const a = {}; a.a = a; return a })()", "/a", "a cycle"],
  ])("refuses %s with its path, and issues no command", async (value, path, what) => {
    const source = withDb(
      `try { await db.find(${value}) } catch (e) { return [e.code, e.details.faults[0].path, e.message] }`,
    );
    const [turn] = await turnsOf(scriptSpec(source));
    expect(turn?.commands).toEqual([]);
    const state = turn?.state as { valueText: string };
    expect(JSON.parse(state.valueText)).toEqual([
      "InvalidArguments",
      path,
      `${path || "the arguments"}: ${what} is not JSON`,
    ]);
  });

  it("writes dates as ISO strings, leaves undefined properties out and honours toJSON", async () => {
    const [turn] = await turnsOf(
      scriptSpec(
        withDb("await db['list-issues']({ d: new Date(0), u: undefined, j: { toJSON: () => 5 }, z: 'a\\u0000b' })"),
      ),
    );
    expect(turn?.commands).toMatchObject([
      { tool: "db.list-issues", argumentsText: '{"d":"1970-01-01T00:00:00.000Z","j":5,"z":"a\\u0000b"}' },
    ]);
  });

  it("refuses arguments over the limit and a result that is no JSON", async () => {
    const spec = scriptSpec(withDb("await db.find({ q: 'x'.repeat(100) })"), { limits: { argumentBytes: 50 } });
    expect((await turnsOf(spec))[0]?.state).toMatchObject({ kind: "failed", error: { code: "InvalidArguments" } });
    expect(await lastState("export default () => ({ a: new Set() })")).toMatchObject({
      error: { code: "ResultNotSerializable", message: "/a: a Set is not JSON" },
    });
  });
});

describe("turns", () => {
  it("issues calls in order, with numbers from 1, awaited or not", async () => {
    const [turn] = await turnsOf(
      scriptSpec(withDb("for (let n = 0; n < 1000; n++) db.find({ n }); return input"), { inputText: '{"a":1}' }),
    );
    expect(turn?.commands.map((command) => command.ref)).toEqual(Array.from({ length: 1000 }, (_, index) => index + 1));
    expect(turn?.state).toEqual({ kind: "returned", valueText: '{"a":1}' });
  });

  it("waits for a promise that nothing settles, for sleeps and signals [case f03]", async () => {
    expect(await lastState("export default async () => { await new Promise(() => {}) }")).toEqual({ kind: "waiting" });
    const [turn] = await turnsOf(
      scriptSpec('import { signal, sleep } from "rewind"; sleep("40d"); await signal("x", { timeout: "30d" })'),
    );
    expect(turn?.commands).toMatchObject([
      { kind: "sleep", ref: 1, untilMs: Date.UTC(2026, 0, 2, 3, 4, 5) + 40 * 86_400_000 },
      { kind: "signal", ref: 2, name: "x", timeoutMs: 30 * 86_400_000 },
    ]);
  });

  it.each([
    'sleep("-1h")',
    "sleep(NaN)",
    "sleep(-1)",
    'sleepUntil("no date")',
    "sleepUntil(new Date(NaN))",
    'signal("")',
  ])("answers %s with a ToolError [case d01]", async (call) => {
    const state = await lastState(`import { signal, sleep, sleepUntil } from "rewind"; await ${call}`);
    expect(state).toMatchObject({ kind: "failed", error: { code: "InvalidArguments", line: 1 } });
  });

  it("tells of a failure that nobody handled, also behind an async function [semantics 3.9]", async () => {
    const source = withDb("(async () => { await db.find({}) })(); return 1");
    expect(await lastState(source, failure(1))).toMatchObject({
      kind: "returned",
      unhandled: { error: { code: "ToolFailed", tool: "db.find", seq: 1 }, line: 2 },
    });
    expect(await lastState(withDb("db.find({}).catch(() => {}); return 1"), failure(1))).toEqual({
      kind: "returned",
      valueText: "1",
    });
  });

  it("rejects with a ToolError of the script's own world [semantics 4.7]", async () => {
    const source = `import { ToolError } from "rewind";\n${withDb(
      "try { await db.find({}) } catch (e) { return [e instanceof ToolError, e instanceof Error, e.code, e.seq, e.outcomeUnknown, e.attempts, e.details.n, e.stack.trim()] }",
    )}`;
    const state = (await lastState(source, failure(1, '{"n":1}'))) as { valueText: string };
    expect(JSON.parse(state.valueText)).toEqual(
      [true, true, "ToolFailed", 1, false, 1, 1, "at default (script.ts:3:60)"].map((v, i) =>
        i === 7 ? expect.stringMatching(/^at default \(script\.ts:3:\d+\)$/) : v,
      ),
    );
    expect(await lastState(withDb("await db.find({})"), failure(1))).toMatchObject({
      error: { code: "ToolFailed", callError: { seq: 1 }, line: 2 },
    });
  });

  it("names line and column of the script's error", async () => {
    expect(await lastState("export default () => {\n  null.x\n}")).toMatchObject({
      error: { code: "ScriptThrew", line: 2, message: "TypeError: cannot read property 'x' of null" },
    });
    expect(await lastState("const a = 1;\nlet let")).toMatchObject({ error: { code: "ScriptInvalid", line: 2 } });
  });

  it("keeps console lines up to the limit [semantics 3.7]", async () => {
    const spec = scriptSpec(
      'console.log("a\\u0000", { b: [1n] }); for (let i = 0; i < 9; i++) console.warn("x".repeat(50))',
      { limits: { consoleBytes: 120 } },
    );
    const printed = (await turnsOf(spec))[0]?.printed;
    expect(printed?.[0]).toEqual({ level: "log", text: 'a\u0000 { "b": [1n] }' });
    expect(printed).toHaveLength(4);
    expect(printed?.at(-1)?.text).toContain("limit of 120 bytes");
  });
});

describe("a world of its own [semantics 3.3]", () => {
  it("knows UTC and en-US only [case f05]", async () => {
    expect(
      await resultOf(
        "[new Date(0).toString(), new Date(2026, 2, 29, 2, 30).toISOString(), ['z', 'ä'].sort((a, b) => a.localeCompare(b)).join(), typeof Intl, (1234.5).toLocaleString(), new Date(0).toLocaleString('en-US')]",
      ),
    ).toBe(
      JSON.stringify([
        "Thu Jan 01 1970 00:00:00 GMT+0000",
        "2026-03-29T02:30:00.000Z",
        "ä,z",
        "undefined",
        "1,234.5",
        "1/1/1970, 12:00:00 AM",
      ]),
    );
    for (const call of [
      "new Date(0).toLocaleString('de-DE')",
      "(1).toLocaleString(undefined, {})",
      "'a'.localeCompare('b', 'de')",
    ]) {
      expect(await resultOf(call)).toMatchObject({ error: { code: "ScriptThrew" } });
    }
  });

  it("has the time of the last delivery", async () => {
    expect(
      await lastState(withDb("const a = Date.now(); await db.find({}); return Date.now() - a"), result(1)),
    ).toEqual({ kind: "returned", valueText: "1000" });
  });

  it("offers text and byte functions", async () => {
    expect(
      await resultOf("[btoa('ab\\u00ff'), atob('YWI='), new TextDecoder().decode(new TextEncoder().encode('aé€😀'))]"),
    ).toBe('["YWL/","ab","aé€😀"]');
  });

  it("gives the same turns in another process, zone and locale [semantics 3.6]", async () => {
    const source = withDb(
      "const r = [Math.random(), crypto.randomUUID(), new Date(2026, 6, 1).getTime(), String(new Date())]; await db.find(r); return [Date.now(), r, await db.drop({ r })]",
    );
    const spec = scriptSpec(source);
    const deliveries = [result(1, '{"a":9007199254740993}'), result(2, "[1]")];
    const program = `import { createSandboxPool } from "./src/sandbox/pool.ts";
      const { spec, deliveries } = JSON.parse(process.argv[1]); const pool = createSandboxPool();
      const { script, firstTurn } = await pool.start(spec); const turns = [firstTurn];
      for (const delivery of deliveries) turns.push(await script.deliver(delivery));
      process.stdout.write(JSON.stringify(turns.map(({ cpuMs, ...turn }) => turn))); await pool.close();`;
    const env = { ...process.env, TZ: "Asia/Kolkata", LANG: "de_DE.UTF-8", LC_ALL: "de_DE.UTF-8" };
    const printed = execFileSync(
      process.execPath,
      ["--input-type=module-typescript", "-e", program, JSON.stringify({ spec, deliveries })],
      { env, encoding: "utf8" },
    );
    expect(printed).toBe(JSON.stringify(await turnsOf(spec, deliveries)));
  });
});

describe("the pool", () => {
  it("rebuilds the scripts of a killed thread, which then go on as if nothing had been [semantics 3.5]", async () => {
    const own = createSandboxPool({ sharedThreads: 1 });
    const source = withDb(
      "const seen = []; for (let n = 1; n < 5; n++) seen.push(await db.find({ n, seen: seen.length, r: Math.random() })); return seen",
    );
    const deliveries = [1, 2, 3, 4].map((ref) => result(ref, String(ref * 10)));
    const undisturbed = await turnsOf(scriptSpec(source), deliveries);
    const { script, firstTurn } = await own.start(scriptSpec(source));
    const turns: Turn[] = [firstTurn];
    for (const delivery of deliveries) {
      // One long native operation: only from outside can the shared thread be freed of it.
      const bully = await own.start(
        scriptSpec("const t = 'a'.repeat(2e7); for (;;) t.split('')", {
          runId: `bully-${delivery.ref}`,
          limits: { cpuMs: 300 },
        }),
      );
      bully.script.dispose();
      turns.push(await script.deliver(delivery));
    }
    expect(turns.map(({ cpuMs: _cpuMs, ...turn }) => turn)).toEqual(undisturbed);
    await own.close();
  });

  it("starts 200 sandboxes, and takes a dispose at any moment", async () => {
    const specs = Array.from({ length: 200 }, (_, index) =>
      scriptSpec(withDb("await db.find({})"), { runId: `run-${index}` }),
    );
    const started = await Promise.all(specs.map((spec) => pool.start(spec)));
    expect(started.every(({ firstTurn }) => firstTurn.commands.length === 1)).toBe(true);
    const open = started.map(({ script }) => script.deliver(result(1)));
    for (const { script } of started) script.dispose();
    const outcomes = await Promise.allSettled(open);
    expect(outcomes.every(({ status }) => status === "rejected")).toBe(true);
    expect(await resultOf("1")).toBe("1");
  });
});
