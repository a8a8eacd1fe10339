import { type ChildProcess, spawn } from "node:child_process";
import { join, resolve } from "node:path";
import { newId } from "../../src/base/ids.ts";
import { readLog } from "../../src/journal/append.ts";
import { decideHold } from "../../src/journal/holds.ts";
import { listLeases, takeOver } from "../../src/journal/incarnations.ts";
import type { LogEntry } from "../../src/journal/log-records.ts";
import { migrate } from "../../src/journal/migrate.ts";
import { openPostgres } from "../../src/journal/postgres.ts";
import { admitRun, cancelRun, type RunView, sendSignal, viewRuns } from "../../src/journal/runs.ts";
import { type Sql, toolsetChannel } from "../../src/journal/sql.ts";
import { observeToolset, readToolsets } from "../../src/journal/toolsets.ts";
import { createDatabase } from "../postgres/postgres.ts";
import { eventually } from "./eventually.ts";

/** Until a process that was just started has pinned: it loads the type-checker and the sandbox beside everything else. */
const START_TIMEOUT_MS = 60_000;
const program = join(resolve(import.meta.dirname, "../.."), "src/bin/dispatcher.ts");

/** A dispatcher in a process of its own. */
export interface DispatcherProcess {
  readonly child: ChildProcess;
  /** What it wrote so far. */
  output(): string;
  kill(signal: NodeJS.Signals): Promise<void>;
}

/** A journal on a real Postgres, with dispatcher processes around it; the test plays the controller. */
export class Rig {
  readonly sql: Sql;
  readonly databaseUrl: string;
  toolsetId = 0;
  readonly #toolset = `ts-${newId()}`;
  readonly #drop: () => Promise<void>;
  readonly #processes: DispatcherProcess[] = [];

  private constructor(sql: Sql, databaseUrl: string, drop: () => Promise<void>) {
    this.sql = sql;
    this.databaseUrl = databaseUrl;
    this.#drop = drop;
  }

  /** @param given an empty database of the caller's own; without it one is made on the tests' server, and dropped at the end */
  static async open(given?: { readonly url: string }): Promise<Rig> {
    const database = given ? { url: given.url, drop: async () => {} } : await createDatabase();
    const sql = openPostgres({
      url: database.url,
      directUrl: database.url,
      connectionsMax: 4,
      onConnectionError: () => {},
    });
    await migrate(sql);
    return new Rig(sql, database.url, () => database.drop());
  }

  /** Writes the Toolset's spec into the journal, as the controller does. */
  async toolset(spec: object, options: { suspended?: boolean } = {}): Promise<void> {
    const specText = JSON.stringify(spec);
    const seen = {
      namespace: "agents",
      name: this.#toolset,
      uid: "u",
      generation: 1,
      specText,
      suspended: options.suspended ?? false,
      pinReason: specText,
    };
    ({ toolsetId: this.toolsetId } = await observeToolset(this.sql, seen));
    this.sql.notify(toolsetChannel(this.toolsetId));
  }

  /** @param place two dispatchers in the same place are known to follow one another */
  dispatcher(options: { place?: string; databaseUrl?: string; env?: Record<string, string> } = {}): DispatcherProcess {
    const env = {
      PATH: process.env["PATH"] ?? "",
      HOLDPOINT_DATABASE_URL: options.databaseUrl ?? this.databaseUrl,
      HOLDPOINT_TOOLSET_ID: String(this.toolsetId),
      HOLDPOINT_PLACE: options.place ?? newId(),
      HOLDPOINT_EXIT_WITH_PARENT: "1",
      HOLDPOINT_LEASE: "2s",
      ...options.env,
    };
    const child = spawn(process.execPath, [program], { env, stdio: ["pipe", "ignore", "pipe"] });
    let output = "";
    child.stderr.on("data", (chunk) => {
      output += chunk;
    });
    const exited = new Promise<void>((done) => child.once("exit", () => done()));
    const started: DispatcherProcess = {
      child,
      output: () => output,
      kill: async (signal) => {
        child.kill(signal);
        if (signal !== "SIGSTOP" && signal !== "SIGCONT") await exited;
      },
    };
    this.#processes.push(started);
    return started;
  }

  /** The digest of the pin, once there is one. */
  async pinned(): Promise<string> {
    return await eventually(
      "the Toolset is pinned",
      async () => {
        const [toolset] = await readToolsets(this.sql, [this.toolsetId]);
        if (toolset && toolset.pinDone >= toolset.pinWanted && !toolset.pinDigest)
          throw new Error(`no pin: ${toolset.reportText}`);
        return toolset && toolset.pinDone >= toolset.pinWanted ? toolset.pinDigest : undefined;
      },
      START_TIMEOUT_MS,
    );
  }

  /** Admits a run, as the controller does: the same uid is admitted once. */
  async run(script: string, input?: unknown, uid = newId()): Promise<{ runId: string; uid: string }> {
    const outcome = await admitRun(this.sql, {
      toolsetId: this.toolsetId,
      namespace: "agents",
      name: `run-${uid}`,
      uid,
      generatedName: true,
      specDigest: "sha256:0",
      pinDigest: await this.pinned(),
      requester: "bob",
      script,
      ...(input === undefined ? {} : { inputText: JSON.stringify(input) }),
    });
    this.sql.notify(toolsetChannel(this.toolsetId));
    return { runId: outcome.runId, uid };
  }

  async view(runId: string): Promise<RunView> {
    const [view] = await viewRuns(this.sql, [runId]);
    if (!view) throw new Error(`no run ${runId}`);
    return view;
  }

  /** The run's view, once it has ended. */
  async finished(runId: string, timeoutMs?: number): Promise<RunView> {
    let last: RunView | undefined;
    return await eventually(
      `run ${runId} ends`,
      async () => {
        last = await this.view(runId);
        if (last.finishedAtMs === undefined) throw new Error(JSON.stringify(last));
        return last;
      },
      timeoutMs,
    );
  }

  /** The run's view, once nobody owns it and it shows this phase. */
  async resting(runId: string, phase: string): Promise<RunView> {
    return await eventually(`run ${runId} rests as ${phase}`, async () => {
      const view = await this.view(runId);
      const { rows } = await this.sql.query<{ owner: string | null }>(
        "select owner from holdpoint.runs where run_id = $1",
        [runId],
      );
      if (view.phase !== phase || rows[0]?.owner !== null) throw new Error(JSON.stringify(view));
      return view;
    });
  }

  async log(runId: string): Promise<LogEntry[]> {
    const entries: LogEntry[] = [];
    for await (const entry of readLog(this.sql, this.toolsetId, runId)) entries.push(entry);
    return entries;
  }

  async decide(runId: string, holdId: string, action: string, by = "ann", reason = ""): Promise<string> {
    const outcome = await decideHold(this.sql, runId, { holdId, action, by, reason });
    this.sql.notify(toolsetChannel(this.toolsetId));
    return outcome.kind;
  }

  /** Answers a parked call, as somebody who looked. */
  async answer(runId: string, holdId: string, answers: unknown): Promise<string> {
    const answersText = JSON.stringify(answers);
    const outcome = await decideHold(this.sql, runId, { holdId, action: "Answer", by: "ann", reason: "", answersText });
    this.sql.notify(toolsetChannel(this.toolsetId));
    return outcome.kind;
  }

  async signal(runId: string, name: string, payload: unknown): Promise<boolean> {
    const sent = await sendSignal(this.sql, runId, name, JSON.stringify(payload));
    this.sql.notify(toolsetChannel(this.toolsetId));
    return sent;
  }

  async cancel(uid: string): Promise<void> {
    await cancelRun(this.sql, uid, "cancelled by the test");
    this.sql.notify(toolsetChannel(this.toolsetId));
  }

  /** Does what the controller does about processes that are known to be dead. */
  async buryAll(): Promise<void> {
    for (const lease of await listLeases(this.sql, this.toolsetId)) await takeOver(this.sql, lease.id);
  }

  async close(): Promise<void> {
    for (const running of this.#processes)
      if (running.child.exitCode === null && running.child.signalCode === null) await running.kill("SIGKILL");
    await this.sql.close();
    await this.#drop();
  }
}
