import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../src/base/clock.ts";
import { createLogger } from "../../src/base/log.ts";
import { startDispatcher } from "../../src/dispatcher/dispatcher.ts";
import { createSandboxPool } from "../../src/sandbox/pool.ts";
import { createScriptChecker } from "../../src/typecheck/checker.ts";
import { eventually } from "../dispatcher/eventually.ts";
import { Rig } from "../dispatcher/rig.ts";
import { startLedgerServer } from "../mcp/ledger-server.ts";
import { publishServer, startPostgres } from "../postgres/postgres.ts";
import type { HistoryFile } from "./history-file.ts";

/**
 * Records new histories: `node test/histories/record.ts`. Files that are there stay as they are: what an old version recorded
 * is exactly what a new one must replay.
 */
const HEAD = 'import { app } from "rewind:tools";\nimport { run, signal, sleep, ToolError } from "rewind";\n';

const SCRIPTS: Readonly<
  Record<string, { about: string; body: string; input?: unknown; approve?: string[]; signals?: unknown[] }>
> = {
  sequential: {
    about: "calls one after another, with console lines",
    body: 'for (let n = 0; n < 5; n += 1) { console.log("turn", n); await app.read({ n }); } return "done";',
  },
  parallel: {
    about: "answers in another order than the calls",
    body: "const order: number[] = []; await Promise.all([30, 20, 10, 0].map(async (ms, n) => { await app.slow({ n, ms }); order.push(n); })); return order;",
  },
  determinism: {
    about: "clock, randomness and identifiers",
    body: "const first = [Date.now() > 0, Math.random(), crypto.randomUUID()]; await app.read({ first }); await app.read({ next: [Math.random(), crypto.randomUUID(), new Date(0).toString()] }); return first[1];",
  },
  errors: {
    about: "a failed tool, refused arguments, both caught",
    body: 'const codes: unknown[] = []; for (const call of [() => app.fail({}), () => app.strict({ n: "x" } as never)]) await call().catch((error) => codes.push(error.code, error.message)); await app.read({ codes }); return codes.length;',
  },
  uncaught: { about: "an uncaught ToolError ends the run", body: "await app.read({ n: 1 }); await app.fail({});" },
  "sleep-and-signal": {
    about: "a sleep, and signals with and without time-out",
    body: 'await app.read({ n: 1 }); await sleep("3s"); const a = await signal("go"); const b = await signal("never", { timeout: "10ms" }); await app.read({ a, b: b ?? null }); return [a, b ?? null];',
    signals: [{ n: 7 }],
  },
  approvals: {
    about: "three approvals, the run dropped in between",
    body: "const sent: number[] = []; for (const n of [1, 2, 3]) { await app.read({ n }); await app.ask({ n }); sent.push(n); } return sent;",
    approve: ["2", "4", "6"],
  },
  "big-integers": {
    about: "integers that no double holds",
    body: "const r: any = await app.big({}); await app.read({ id: r.id, kind: typeof r.id }); return r.id;",
  },
  input: {
    about: "input, and what run says",
    body: "await app.read({ input: run.input as never, id: run.id.length }); return input.list.map((x: number) => x * 2);",
    input: { list: [1, 2, 3] },
  },
};

const TOOLS = ["read", "slow", "fail", "strict", "ask", "big"];
const schema = (name: string) =>
  name === "strict" ? { type: "object", properties: { n: { type: "integer" } } } : { type: "object" };

const postgres = await startPostgres();
await publishServer(postgres.url);
const server = await startLedgerServer({
  tools: TOOLS.map((name) => ({ name, inputSchema: schema(name) })),
  results: {
    fail: '{"isError":true,"content":[{"type":"text","text":"no such thing"}]}',
    big: '{"content":[],"structuredContent":{"id":9007199254740993}}',
  },
});
const rig = await Rig.open();
await rig.toolset({
  servers: [{ name: "app", url: server.url }],
  policies: [{ tools: ["app.ask"], approval: "Required" }],
});
const sandbox = createSandboxPool();
const checker = createScriptChecker();
const dispatcher = await startDispatcher({
  sql: rig.sql,
  toolsetId: rig.toolsetId,
  place: "record",
  clock: systemClock,
  log: createLogger("record", "warn"),
  sandbox,
  checker,
  options: { pollMs: 100 },
});

for (const [name, { about, body, input, approve = [], signals = [] }] of Object.entries(SCRIPTS)) {
  const { runId } = await rig.run(`${HEAD}export default async function (input: any) {\n${body}\n}`, input);
  for (const holdId of approve) {
    await eventually(`call ${holdId} is parked`, async () =>
      (await rig.resting(runId, "Parked")).holds.some((hold) => hold.holdId === holdId),
    );
    await rig.decide(runId, holdId, "Approve");
  }
  for (const payload of signals) {
    await rig.resting(runId, "Waiting");
    await rig.signal(runId, "go", payload);
  }
  const view = await rig.finished(runId, 60_000);
  const { rows } = await rig.sql.query<{ module: string; input: string | null; seed: string; behaviours: number[] }>(
    "select module, input, seed, behaviours from holdpoint.runs where run_id = $1",
    [runId],
  );
  const [row] = rows;
  if (!row) throw new Error(`run ${runId} is gone`);
  const history: HistoryFile = {
    about,
    runId,
    moduleSource: JSON.parse(row.module) as string,
    ...(row.input === null ? {} : { inputText: row.input }),
    seed: row.seed,
    startedAtMs: view.startedAtMs ?? 0,
    behaviours: row.behaviours,
    groups: { app: [...TOOLS].sort() },
    entries: await rig.log(runId),
    phase: view.phase,
    ...(view.resultText === undefined ? {} : { resultText: view.resultText }),
    ...(view.errorText === undefined ? {} : { errorCode: (JSON.parse(view.errorText) as { code: string }).code }),
  };
  try {
    writeFileSync(join(import.meta.dirname, "recorded", `${name}.json`), `${JSON.stringify(history, null, 2)}\n`, {
      flag: "wx",
    });
    process.stdout.write(`recorded ${name}: ${view.phase}\n`);
  } catch {
    process.stdout.write(`kept ${name}: it is recorded already\n`);
  }
}
await dispatcher.close();
await Promise.all([sandbox.close(), checker.close(), rig.close(), server.close()]);
await postgres.close();
