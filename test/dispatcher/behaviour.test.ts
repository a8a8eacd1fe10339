import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { systemClock } from "../../src/base/clock.ts";
import { createLogger } from "../../src/base/log.ts";
import { type Dispatcher, startDispatcher } from "../../src/dispatcher/dispatcher.ts";
import { createSandboxPool } from "../../src/sandbox/pool.ts";
import { createScriptChecker } from "../../src/typecheck/checker.ts";
import { type LedgerServer, startLedgerServer } from "../mcp/ledger-server.ts";
import { eventually } from "./eventually.ts";
import { Rig } from "./rig.ts";

let rig: Rig;
let server: LedgerServer;
let dispatcher: Dispatcher;
const sandbox = createSandboxPool();
const checker = createScriptChecker();

const anything = { type: "object" };
const spec = () => ({
  servers: [{ name: "app", url: server.url }],
  policies: [
    { tools: ["app.ask"], approval: "Required" },
    { tools: ["app.out", "app.out2"], retention: "Outward", onInterruption: "AtMostOnce" },
    { tools: ["app.slow"], timeout: "300ms" },
    { tools: ["app.quiet"], idleTimeout: "300ms", onInterruption: "AtMostOnce" },
    { tools: ["app.two"], concurrency: 2 },
    { tools: ["app.pay"], onInterruption: "Park" },
  ],
  limits: { resultBytes: 1000, sandbox: { calls: 20, journal: "20Ki" } },
});

beforeAll(async () => {
  const strict = {
    type: "object",
    properties: { n: { type: "integer" } },
    required: ["n"],
    additionalProperties: false,
  };
  const paid = { type: "object", properties: { receipt: { type: "string" } }, required: ["receipt"] };
  const names = ["read", "ask", "out", "out2", "slow", "quiet", "two"];
  server = await startLedgerServer({
    tools: [
      ...names.map((name) => ({ name, inputSchema: anything })),
      { name: "strict", inputSchema: strict },
      { name: "pay", inputSchema: anything, outputSchema: paid },
    ],
  });
  rig = await Rig.open();
  await rig.toolset(spec());
  const log = createLogger("test", process.env["HOLDPOINT_TEST_LOG"] ?? "silent");
  dispatcher = await startDispatcher({
    sql: rig.sql,
    toolsetId: rig.toolsetId,
    place: "test",
    clock: systemClock,
    log,
    sandbox,
    checker,
    options: { pollMs: 200 },
  });
  await rig.pinned();
});

afterAll(async () => {
  await dispatcher.close();
  await Promise.all([sandbox.close(), checker.close(), rig.close(), server.close()]);
});

afterEach(() => {
  server.behaviour.faults = [];
  server.release();
});

const module = (body: string, imports = "app") =>
  `import { ${imports} } from "rewind:tools";\nimport { sleep, signal, ToolError } from "rewind";\nexport default async function (input: any) {\n${body}\n}`;
const callsOf = (runId: string) => server.ledger.entries.filter((entry) => entry.key.startsWith(runId));
const failureOf = (view: { errorText?: string }) => JSON.parse(view.errorText ?? "null");

async function outcome(body: string, input?: unknown) {
  const { runId } = await rig.run(module(body), input);
  const view = await rig.finished(runId);
  return {
    runId,
    view,
    result: view.resultText === undefined ? undefined : JSON.parse(view.resultText),
    failure: failureOf(view),
  };
}

test("arguments that do not fit are refused before anything is recorded, with every fault's path [semantics 4.1]", async () => {
  const { runId, result } = await outcome(`
    const bad = { n: "x", extra: 1 } as unknown as { n: number };
    const code = await app.strict(bad).catch((error) => error.code + " " + error.seq + " " + error.message);
    await app.strict({ n: 1 });
    return code;`);
  expect(result).toMatch(/^InvalidArguments undefined .*n.*; .*extra|^InvalidArguments undefined .*extra.*; .*n/);
  expect(callsOf(runId).map((entry) => entry.key)).toEqual([`${runId}/1`]);
  expect((await rig.log(runId)).filter((entry) => entry.kind === "called")).toHaveLength(1);
});

test("integers that no double holds keep their digits on the wire and in the result [case a07]", async () => {
  server.behaviour.faults = [
    {
      kind: "result",
      tool: "read",
      resultText:
        '{"content":[{"type":"text","text":"{\\"id\\":9007199254740993}"}],"structuredContent":{"id":9007199254740993}}',
    },
  ];
  const { runId } = await rig.run(
    module("const r: any = await app.read({}); await app.two({ id: r.id }); return r.id;"),
  );
  const view = await rig.finished(runId);
  expect(view.resultText).toBe("9007199254740993");
  expect(callsOf(runId)[1]?.argumentsText).toBe('{"id":9007199254740993}');
});

test("U+0000 and half a surrogate pair come back as they were, sent once [case d03]", async () => {
  server.behaviour.faults = [
    { kind: "result", tool: "read", resultText: '{"content":[{"type":"text","text":"ok\\u0000end \\ud800"}]}' },
  ];
  const { runId, view, result } = await outcome(
    'const r: any = await app.read({ q: "a\\u0000b" }); console.log("x\\u0000y"); return [r.slice(0, 7), r.charCodeAt(7)];',
  );
  expect(view.phase).toBe("Succeeded");
  expect(result).toEqual(["ok\u0000end ", 0xd800]);
  expect(callsOf(runId)).toMatchObject([{ argumentsText: '{"q":"a\\u0000b"}' }]);
  const printed = (await rig.log(runId)).find((entry) => entry.kind === "printed");
  expect(printed?.kind === "printed" && printed.lines[0]?.text).toBe("x\u0000y");
});

test("outward calls of a step run after its others, one at a time; a failure skips the later ones [semantics 6.2]", async () => {
  server.behaviour.faults = [
    { kind: "result", tool: "out", resultText: '{"isError":true,"content":[{"type":"text","text":"no"}]}' },
  ];
  const { runId, result } = await outcome(`
    const outcomes = await Promise.allSettled([app.out({ k: 1 }), app.out2({ k: 2 }), app.read({ k: 3 })]);
    return outcomes.map((o: any) => o.status === "fulfilled" ? "ok" : o.reason.code);`);
  expect(result).toEqual(["ToolFailed", "Skipped", "ok"]);
  expect(callsOf(runId).map((entry) => entry.tool)).toEqual(["read", "out"]);
});

test("no more calls of a tool are in flight than its policy allows, and the rest wait in order [semantics 5.6]", async () => {
  server.behaviour.faults = [{ kind: "holdBefore", tool: "two", times: 2 }];
  const { runId } = await rig.run(module("await Promise.all([1, 2, 3, 4].map((n) => app.two({ n }))); return 1;"));
  await eventually("two are at the server", async () => server.waiting() === 2);
  expect((await rig.log(runId)).map((entry) => (entry.kind === "called" ? entry.sent : entry.kind))).toEqual([
    true,
    true,
    false,
    false,
  ]);
  server.release();
  await rig.finished(runId);
  expect(callsOf(runId).map((entry) => entry.argumentsText)).toEqual([1, 2, 3, 4].map((n) => `{"n":${n}}`));
});

test("an interrupted call is sent again with the same key [semantics 5.2]", async () => {
  server.behaviour.faults = [{ kind: "dropAfter", tool: "read" }];
  const { runId, result } = await outcome("await app.read({}); return 1;");
  expect(result).toBe(1);
  expect(callsOf(runId).map((entry) => [entry.key, entry.effect])).toEqual([
    [`${runId}/1`, true],
    [`${runId}/1`, false],
  ]);
});

test("what certainly did not reach the tool is tried again also under AtMostOnce, and does not count [semantics 5.3]", async () => {
  server.behaviour.faults = [{ kind: "status", status: 429, headers: { "retry-after": "0" }, tool: "out" }];
  const { runId, result } = await outcome("await app.out({}); return 1;");
  expect(result).toBe(1);
  const settled = (await rig.log(runId)).find((entry) => entry.kind === "settled");
  expect(settled).toMatchObject({ attempts: 1 });
  expect(callsOf(runId)).toHaveLength(1);
});

test("an attempt is bounded in total, and by the time without a sign of life [semantics 5.5]", async () => {
  server.behaviour.faults = [{ kind: "hold", tool: "quiet" }];
  const { failure } = await outcome("await app.quiet({}); return 1;");
  expect(failure).toMatchObject({
    code: "Interrupted",
    outcomeUnknown: true,
    message: expect.stringContaining("neither an answer nor a progress notification for 300 ms"),
  });
  server.behaviour.faults = [{ kind: "progress", tool: "quiet", count: 6, everyMs: 100 }];
  expect((await outcome("await app.quiet({}); return 2;")).result).toBe(2);
  server.behaviour.faults = [{ kind: "hold", tool: "slow" }];
  const { runId, result } = await outcome("await app.slow({}); return 3;");
  expect(result).toBe(3);
  expect((await rig.log(runId)).find((entry) => entry.kind === "interrupted")).toMatchObject({
    cause: expect.stringContaining("300 ms"),
  });
});

test("a result beyond the limit is ResultTooLarge, in UTF-8 bytes of what the script would get [semantics 4.6]", async () => {
  server.behaviour.faults = [
    { kind: "result", tool: "read", resultText: `{"content":[{"type":"text","text":"${"é".repeat(600)}"}]}` },
  ];
  expect((await outcome("await app.read({}); return 1;")).failure).toMatchObject({
    code: "ResultTooLarge",
    seq: 1,
    tool: "app.read",
  });
});

test("more calls than the limit end the run, and the script cannot catch it [semantics 3.5]", async () => {
  const { runId, failure } = await outcome("for (let n = 0; ; n += 1) await app.read({ n }).catch(() => {});");
  expect(failure.code).toBe("CallLimit");
  expect(callsOf(runId)).toHaveLength(20);
});

describe("a call whose outcome nobody knows, under Park [semantics 5.2]", () => {
  /** A run whose call took effect while its answer was lost: it is parked, and was sent once. */
  async function interrupted() {
    server.behaviour.faults = [{ kind: "dropAfter", tool: "pay" }];
    const { runId } = await rig.run(
      module('return await app.pay({}).catch((error) => error.code + ": " + error.message);'),
    );
    const { holds } = await rig.resting(runId, "Parked");
    expect(holds).toMatchObject([{ holdId: "1", reason: "OutcomeUnknown", actions: ["Approve", "Reject", "Answer"] }]);
    expect(callsOf(runId)).toHaveLength(1);
    return runId;
  }

  test("approving sends it again, with the same key", async () => {
    const runId = await interrupted();
    await rig.decide(runId, "1", "Approve");
    expect((await rig.finished(runId)).phase).toBe("Succeeded");
    expect(callsOf(runId).map((entry) => [entry.key, entry.effect])).toEqual([
      [`${runId}/1`, true],
      [`${runId}/1`, false],
    ]);
  });

  test("rejecting says that it failed", async () => {
    const runId = await interrupted();
    await rig.decide(runId, "1", "Reject", "bob", "no receipt");
    expect((await rig.finished(runId)).resultText).toBe('"Rejected: by bob: no receipt"');
    expect(callsOf(runId)).toHaveLength(1);
  });

  test("answering gives its result, which must fit the output schema: else it is offered again under the next id [semantics 7.9]", async () => {
    const runId = await interrupted();
    await rig.answer(runId, "1", { receipt: 7 });
    const again = await eventually("it is offered again", async () =>
      (await rig.view(runId)).holds.find((hold) => hold.holdId === "1-2"),
    );
    expect(JSON.parse(again.shownText).message).toContain("$.receipt");
    await rig.answer(runId, "1-2", { receipt: "r-1" });
    expect((await rig.finished(runId)).resultText).toBe('{"receipt":"r-1"}');
    expect(callsOf(runId)).toHaveLength(1);
  });
});

test("a run that takes more of the journal than it may ends, also across a replay [semantics 3.5]", async () => {
  const { runId } = await rig.run(
    module(
      'const text = "x".repeat(6_000); const big = () => app.read({ text }).catch(() => {}); await big(); await big(); await app.ask({}); for (;;) await big();',
    ),
  );
  await rig.resting(runId, "Parked");
  await rig.decide(runId, "3", "Approve");
  expect(failureOf(await rig.finished(runId)).code).toBe("JournalLimit");
  expect(callsOf(runId).length).toBeLessThanOrEqual(5);
});

test("a script that waits for nothing fails at once; beside a parked call it waits, and fails when that is resolved [case f03]", async () => {
  expect((await outcome("await new Promise(() => {});")).failure.code).toBe("ScriptStalled");
  const { runId } = await rig.run(module("app.ask({}); await new Promise(() => {});"));
  await rig.resting(runId, "Parked");
  await rig.decide(runId, "1", "Approve");
  expect(failureOf(await rig.finished(runId)).code).toBe("ScriptStalled");
  expect(callsOf(runId)).toHaveLength(1);
});

test("calls that nobody awaits are carried to their end, and a failure that nobody handled fails the run [semantics 3.9]", async () => {
  const { runId, result } = await outcome("void app.read({ n: 1 }); return 1;");
  expect(result).toBe(1);
  expect((await rig.log(runId)).map((entry) => entry.kind)).toEqual(["called", "settled"]);
  server.behaviour.faults = [{ kind: "error", tool: "read", code: -32000, message: "broken" }];
  const failed = await outcome("void app.read({}); return 1;");
  expect(failed.failure).toMatchObject({
    code: "UnhandledToolError",
    tool: "app.read",
    seq: 1,
    message: expect.stringContaining("ProtocolError"),
  });
});

test("a rejected call is a ToolError that says who and why; the script may go on [semantics 7.2]", async () => {
  const { runId } = await rig.run(
    module(
      "return await app.ask({}).catch((error) => [error.code, error.message, error.outcomeUnknown, error instanceof ToolError]);",
    ),
  );
  await rig.resting(runId, "Parked");
  await rig.decide(runId, "1", "Reject", "bob", "not today");
  const view = await rig.finished(runId);
  expect(JSON.parse(view.resultText ?? "")).toEqual(["Rejected", "by bob: not today", false, true]);
  expect(view.holds).toMatchObject([{ outcome: "Rejected", outcomeNote: "by bob: not today" }]);
  expect(callsOf(runId)).toEqual([]);
});

test("several calls are parked at once; each is resolved by its own id, in any order, while the rest goes on [semantics 7.6, case c03]", async () => {
  const { runId } = await rig.run(
    module(`
    console.log("once");
    const [a, b] = await Promise.all([app.ask({ n: 1 }), app.ask({ n: 2 }).then(async () => app.read({ n: 3 }))]);
    return "both";`),
  );
  const parked = await rig.resting(runId, "Parked");
  expect(parked.holds.map((hold) => hold.holdId)).toEqual(["1", "2"]);
  await rig.decide(runId, "2", "Approve");
  await eventually("the other branch went on", async () => callsOf(runId).some((entry) => entry.tool === "read"));
  await rig.resting(runId, "Parked");
  await rig.decide(runId, "1", "Approve");
  expect(await rig.finished(runId)).toMatchObject({ phase: "Succeeded", resultText: '"both"' });
  expect(callsOf(runId).map((entry) => entry.argumentsText)).toEqual(['{"n":2}', '{"n":3}', '{"n":1}']);
  expect((await rig.log(runId)).filter((entry) => entry.kind === "printed")).toHaveLength(1);
});

test("a sleep is a row: the run is given back, claimed when it is due, and the clock went on [semantics 3.11, case d01]", async () => {
  const { runId } = await rig.run(
    module('const before = Date.now(); await app.read({}); await sleep("3s"); return Date.now() - before;'),
  );
  const asleep = await rig.resting(runId, "Sleeping");
  expect(asleep.wakeAtMs).toBeGreaterThan(Date.now());
  const view = await rig.finished(runId);
  const slept = JSON.parse(view.resultText ?? "0");
  expect(slept).toBeGreaterThanOrEqual(3_000);
  expect(slept).toBeLessThan(10_000);
  expect(callsOf(runId)).toHaveLength(1);
});

test("forty days are forty days, and cost no process [case d01]", async () => {
  const { runId, uid } = await rig.run(module('await sleep("40d");'));
  const asleep = await rig.resting(runId, "Sleeping");
  expect(Math.round(((asleep.wakeAtMs ?? 0) - Date.now()) / 86_400_000)).toBe(40);
  await rig.cancel(uid);
  expect(await rig.finished(runId)).toMatchObject({ phase: "Cancelled", cancelReason: "cancelled by the test" });
});

test("a signal reaches the script that waits for it, or that asks later; oldest first [semantics 11.2]", async () => {
  const { runId } = await rig.run(
    module('const first = await signal("x"); const second = await signal("x"); return [first, second];'),
  );
  await rig.resting(runId, "Waiting");
  await rig.signal(runId, "x", { n: 1 });
  await rig.signal(runId, "y", "another");
  await rig.signal(runId, "x", { n: 2 });
  expect(JSON.parse((await rig.finished(runId)).resultText ?? "")).toEqual([{ n: 1 }, { n: 2 }]);
});

test("a suspended Toolset sends nothing, loses nothing, and goes on when it is resumed [semantics 7.10]", async () => {
  server.behaviour.faults = [{ kind: "hold", tool: "read" }];
  const { runId } = await rig.run(module("await app.read({}); await app.two({}); return 1;"));
  await eventually("the first call is under way", async () => server.waiting() === 1);
  await rig.toolset(spec(), { suspended: true });
  await eventually("the dispatcher knows", async () => {
    const { runId: probe } = await rig.run(module("return 0;"));
    await new Promise((resolve) => setTimeout(resolve, 300));
    return (await rig.view(probe)).phase === "Pending";
  });
  server.release();
  await eventually("the call in flight has ended", async () =>
    (await rig.log(runId)).some((entry) => entry.kind === "settled"),
  );
  await eventually("the run is given back", async () => {
    const { rows } = await rig.sql.query<{ owner: string | null }>(
      "select owner from holdpoint.runs where run_id = $1",
      [runId],
    );
    return rows[0]?.owner === null;
  });
  expect(callsOf(runId).map((entry) => entry.tool)).toEqual(["read"]);
  await rig.toolset(spec());
  expect(await rig.finished(runId)).toMatchObject({ phase: "Succeeded" });
  expect(callsOf(runId).map((entry) => entry.tool)).toEqual(["read", "two"]);
});

test("cancelling ends a run whatever it waits for, and cancels what is in flight at the server [semantics 7.7]", async () => {
  server.behaviour.faults = [{ kind: "hold", tool: "read" }];
  const { runId, uid } = await rig.run(module("await Promise.all([app.read({}), app.ask({})]);"));
  await eventually("one is in flight", async () => server.waiting() === 1);
  const closedBefore = server.seen.closedByClient;
  await rig.cancel(uid);
  const view = await rig.finished(runId);
  expect(view).toMatchObject({ phase: "Cancelled", holds: [{ outcome: "Cancelled" }] });
  await eventually(
    "the server sees it",
    async () => server.seen.closedByClient > closedBefore || server.seen.cancelledIds.length > 0,
  );
});

test("a script that does not type-check never starts, with line and column [semantics 3.2]", async () => {
  const { runId } = await rig.run(
    'import { app } from "rewind:tools";\nexport default async () => { await app.raed({}); };',
  );
  const view = await rig.finished(runId);
  expect(view).toMatchObject({ phase: "Failed", accepted: false });
  expect(failureOf(view)).toMatchObject({
    code: "ScriptInvalid",
    line: 2,
    column: 40,
    message: expect.stringContaining("read"),
  });
  expect(callsOf(runId)).toEqual([]);
});

test("a script that makes another call than recorded is stopped, and both are named [semantics 3.6]", async () => {
  const { runId } = await rig.run(module("await app.read({ n: 1 }); await app.ask({}); return 1;"));
  await rig.resting(runId, "Parked");
  await rig.sql.query("update holdpoint.log set payload = $2 where run_id = $1 and seq = 1 and kind = 0", [
    runId,
    '{"n":2}',
  ]);
  await rig.decide(runId, "2", "Approve");
  const failure = failureOf(await rig.finished(runId));
  expect(failure).toMatchObject({
    code: "NondeterministicScript",
    message: 'the log holds call 1 of app.read {"n":2}, the script calls app.read {"n":1}',
  });
  expect(callsOf(runId)).toHaveLength(1);
});
