import { type ChildProcess, spawn } from "node:child_process";
import { setTimeout as pause } from "node:timers/promises";
import { newId } from "../src/base/ids.ts";
import { migrate } from "../src/journal/migrate.ts";
import { openPostgres } from "../src/journal/postgres.ts";
import { admitRun } from "../src/journal/runs.ts";
import { type Sql, toolsetChannel } from "../src/journal/sql.ts";
import { observeToolset, readToolsets } from "../src/journal/toolsets.ts";
import type { Contender } from "./contender-process.ts";
import { cpuSeconds } from "./cpu-time.ts";
import { CALL_TEXT, type Measured, type Workload } from "./workload.ts";

const dispatcherProgram = new URL("../src/bin/dispatcher.ts", import.meta.url).pathname;
const PIN_TIMEOUT_MS = 60_000;
const RUNS_TIMEOUT_MS = 300_000;
const LOOK_MS = 100;

/** The script of every run: calls one after the other. It is type-checked, and its arguments and results are validated. */
const script = `import { bench } from "rewind:tools";
export default async function (input: { calls: number }) {
  for (let n = 0; n < input.calls; n++) {
    const { text } = await bench.echo({ n, text: "${CALL_TEXT}" });
    if (text.length !== ${CALL_TEXT.length}) throw new Error("the tool answered something else");
  }
  return input.calls;
}
`;

/** Holdpoint: a dispatcher as it is shipped, in a process of its own; the benchmark plays the controller. */
export async function startHoldpoint(
  databaseUrl: string,
  serverUrl: string,
  nodeFlags: readonly string[],
): Promise<Contender> {
  const sql = openPostgres({
    url: databaseUrl,
    directUrl: databaseUrl,
    connectionsMax: 4,
    onConnectionError: () => {},
  });
  await migrate(sql);
  const toolset = new SuspendableToolset(sql, serverUrl);
  const toolsetId = await toolset.suspend(true);
  const child = startDispatcher(databaseUrl, toolsetId, nodeFlags);
  const stop = async () => {
    const exited = new Promise<void>((resolve) => child.once("exit", () => resolve()));
    if (child.exitCode === null && child.signalCode === null) {
      child.kill("SIGTERM");
      await exited;
    }
    await sql.close();
  };
  const pinDigest = await pinned(sql, toolsetId, child).catch(async (error: unknown) => {
    await stop();
    throw error;
  });
  return {
    name: "holdpoint",
    measure: async (workload, onStart) => {
      await toolset.suspend(true);
      const runIds = await admit(sql, toolsetId, pinDigest, workload);
      await onStart();
      const startedAt = await databaseTime(sql);
      await toolset.suspend(false);
      await ended(sql, runIds);
      return await readMeasured(sql, runIds, startedAt);
    },
    cpuSeconds: () => (child.pid === undefined ? 0 : cpuSeconds(child.pid)),
    close: stop,
  };
}

/** A suspended Toolset claims no run: so all runs are admitted before the clock starts. */
class SuspendableToolset {
  readonly #sql: Sql;
  readonly #specText: string;

  constructor(sql: Sql, serverUrl: string) {
    this.#sql = sql;
    this.#specText = JSON.stringify({ servers: [{ name: "bench", url: serverUrl }] });
  }

  async suspend(suspended: boolean): Promise<number> {
    const { toolsetId } = await observeToolset(this.#sql, {
      namespace: "bench",
      name: "bench",
      uid: "bench",
      generation: 1,
      specText: this.#specText,
      suspended,
      pinReason: this.#specText,
    });
    this.#sql.notify(toolsetChannel(toolsetId));
    return toolsetId;
  }
}

function startDispatcher(databaseUrl: string, toolsetId: number, nodeFlags: readonly string[]): ChildProcess {
  return spawn(process.execPath, [...nodeFlags, dispatcherProgram], {
    env: {
      PATH: process.env["PATH"] ?? "",
      HOLDPOINT_DATABASE_URL: databaseUrl,
      HOLDPOINT_TOOLSET_ID: String(toolsetId),
      HOLDPOINT_PLACE: newId(),
      HOLDPOINT_EXIT_WITH_PARENT: "1",
      HOLDPOINT_RUNS_PER_REPLICA: "1000",
      HOLDPOINT_LOG_LEVEL: "warn",
    },
    stdio: ["pipe", "ignore", "inherit"],
  });
}

async function pinned(sql: Sql, toolsetId: number, child: ChildProcess): Promise<string> {
  const deadlineMs = Date.now() + PIN_TIMEOUT_MS;
  while (Date.now() < deadlineMs && child.exitCode === null) {
    const [toolset] = await readToolsets(sql, [toolsetId]);
    if (toolset?.pinDigest !== undefined) return toolset.pinDigest;
    await pause(LOOK_MS);
  }
  throw new Error("the dispatcher made no pin");
}

function admit(sql: Sql, toolsetId: number, pinDigest: string, workload: Workload): Promise<string[]> {
  const inputText = JSON.stringify({ calls: workload.calls });
  const admitOne = async () => {
    const uid = newId();
    const run = { toolsetId, namespace: "bench", name: `run-${uid}`, uid, generatedName: true, specDigest: "sha256:0" };
    return (await admitRun(sql, { ...run, pinDigest, requester: "bench", script, inputText })).runId;
  };
  return Promise.all(Array.from({ length: workload.runs }, admitOne));
}

async function databaseTime(sql: Sql): Promise<string> {
  const { rows } = await sql.query<{ now: string }>("select clock_timestamp()::text as now", []);
  return rows[0]?.now ?? "";
}

async function ended(sql: Sql, runIds: readonly string[]): Promise<void> {
  const deadlineMs = Date.now() + RUNS_TIMEOUT_MS;
  for (;;) {
    const { rows } = await sql.query<{ left: number; failed: string | null }>(
      `select count(*) filter (where finished_at is null)::int as left, min(error) filter (where phase <> 'Succeeded') as failed
       from holdpoint.runs where run_id = any($1::uuid[])`,
      [runIds],
    );
    if (typeof rows[0]?.failed === "string") throw new Error(`a run failed: ${rows[0].failed}`);
    if (rows[0]?.left === 0) return;
    if (Date.now() > deadlineMs) throw new Error(`${rows[0]?.left} runs did not end`);
    await pause(LOOK_MS);
  }
}

/** By the database's clock. A call's time is what lies between two answers of its run: commit, call, validation and the script. */
async function readMeasured(sql: Sql, runIds: readonly string[], startedAt: string): Promise<Measured> {
  const { rows } = await sql.query<{ elapsed_ms: number; p50: number; p99: number }>(
    `with answers as (
       select at_ms - lag(at_ms) over (partition by run_id order by n) as took
       from holdpoint.log where run_id = any($1::uuid[]) and kind = 1
     )
     select (select extract(epoch from max(finished_at) - $2::timestamptz) * 1000 from holdpoint.runs
             where run_id = any($1::uuid[]))::float8 as elapsed_ms,
       percentile_disc(0.5) within group (order by took)::float8 as p50,
       percentile_disc(0.99) within group (order by took)::float8 as p99
     from answers`,
    [runIds, startedAt],
  );
  const [row] = rows;
  if (!row) throw new Error("the journal does not tell how long it took");
  return { elapsedMs: row.elapsed_ms, p50Ms: row.p50, p99Ms: row.p99 };
}
