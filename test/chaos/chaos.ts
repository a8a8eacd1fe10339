import { setTimeout as delay } from "node:timers/promises";
import type { LedgerEntry } from "../mcp/ledger.ts";
import { judgeAll, judgeSoFar, type Violation } from "./checks.ts";
import { planFault } from "./fault-plan.ts";
import { Injector } from "./inject.ts";
import { plannedCalls } from "./run-plan.ts";
import { RunStream } from "./run-stream.ts";
import { openWorld, type World } from "./world.ts";

export interface ChaosOptions {
  readonly seed: number;
  /** Faults that have to take place. */
  readonly faults: number;
  /** Between two faults, on the average. */
  readonly paceMs: number;
  /** No fault begins after this, whatever was reached. */
  readonly durationMsMax: number;
  /** Whether the first violation that is seen while runs go on ends it at once. */
  readonly stopsAtFirst?: boolean;
  readonly onProgress?: (line: string) => void;
}

export interface ChaosReport {
  readonly seed: number;
  readonly faults: number;
  readonly faultsByKind: ReadonlyMap<string, number>;
  readonly runs: number;
  readonly calls: number;
  readonly arrivals: number;
  readonly resends: number;
  readonly unknownOutcomes: number;
  readonly decisions: number;
  readonly signals: number;
  readonly durationMs: number;
  readonly violations: readonly Violation[];
  /** What is known of the runs that violations name. */
  readonly evidence: readonly string[];
}

/** After the last fault everything must come to its end within this: the longest pause between two sends is a minute. */
const END_TIMEOUT_MS = 180_000;
/** The rest of the faults kills no dispatcher, so that what the faults before left undone shows. */
const SHARE_WITH_DEATHS = 0.8;
const REPORT_EVERY_MS = 15_000;

/** Lets runs go while everything around them fails, heals the world, waits for the ends, and judges. */
export async function runChaos(options: ChaosOptions): Promise<ChaosReport> {
  const startedAtMs = performance.now();
  const world = await openWorld();
  try {
    const stream = new RunStream(world.rig, options.seed);
    const injector = new Injector(world);
    stream.start();
    const isOver = await injectAll(world, stream, injector, options);
    stream.stopAdmitting();
    await injector.heal();
    if (!isOver) await endAll(world, stream, options);
    await stream.close();
    const entries = world.server.entries();
    const violations = isOver
      ? await judgeSoFar(world.rig.sql, entries)
      : await judgeAll(world.rig.sql, stream.runs, stream.decisions, entries);
    return await report(world, stream, injector, entries, violations, options.seed, performance.now() - startedAtMs);
  } finally {
    await world.close();
  }
}

/** @returns whether a violation was seen already */
async function injectAll(world: World, stream: RunStream, injector: Injector, options: ChaosOptions): Promise<boolean> {
  const startedAtMs = performance.now();
  let reportedAtMs = startedAtMs;
  for (let index = 0; injector.total < options.faults; index++) {
    const share = Math.max(injector.total / options.faults, (performance.now() - startedAtMs) / options.durationMsMax);
    const fault = planFault(options.seed, index, options.paceMs, share < SHARE_WITH_DEATHS);
    await delay(fault.afterMs);
    const nowMs = performance.now();
    if (nowMs - startedAtMs > options.durationMsMax) return false;
    injector.begin(fault);
    if (options.stopsAtFirst && (await seesViolation(world))) return true;
    if (nowMs - reportedAtMs < REPORT_EVERY_MS) continue;
    reportedAtMs = nowMs;
    options.onProgress?.(
      `${Math.round((nowMs - startedAtMs) / 1000)} s: ${injector.total} faults, ${stream.runs.length} runs, ${stream.unfinished} unfinished`,
    );
  }
  return false;
}

async function seesViolation(world: World): Promise<boolean> {
  // What has arrived is read first: a send that was recorded before it is then seen.
  const entries = world.server.entries();
  return (await judgeSoFar(world.rig.sql, entries).catch(() => [])).length > 0;
}

async function endAll(world: World, stream: RunStream, options: ChaosOptions): Promise<void> {
  const deadlineMs = performance.now() + END_TIMEOUT_MS;
  // Counted anew every few looks of the stream.
  await delay(1_000);
  while (stream.unfinished > 0 && performance.now() < deadlineMs) {
    if (options.stopsAtFirst && (await seesViolation(world))) return;
    await delay(200);
  }
}

async function report(
  world: World,
  stream: RunStream,
  injector: Injector,
  entries: readonly LedgerEntry[],
  violations: readonly Violation[],
  seed: number,
  durationMs: number,
): Promise<ChaosReport> {
  const runIds = [...new Set(violations.flatMap(({ runId }) => runId ?? []))];
  const evidence: string[] = [];
  for (const runId of runIds.slice(0, 5)) evidence.push(...(await evidenceOf(world, runId, entries)));
  const { rows } = await world.rig.sql.query<{ count: number }>(
    `select count(*)::int as count from holdpoint.log where kind = 1 and payload like '%"outcomeUnknown":true%'`,
  );
  return {
    seed,
    faults: injector.total,
    faultsByKind: injector.counts,
    runs: stream.runs.length,
    calls: stream.runs.reduce((sum, { plan }) => sum + plannedCalls(plan).length, 0),
    arrivals: entries.length,
    resends: entries.length - new Set(entries.map(({ key }) => key)).size,
    unknownOutcomes: rows[0]?.count ?? 0,
    decisions: stream.decisions.length,
    signals: stream.signals,
    durationMs,
    violations,
    evidence,
  };
}

/** A run's row, hand-overs, log, arrivals at the server, and what the dispatchers said of it. */
async function evidenceOf(world: World, runId: string, entries: readonly LedgerEntry[]): Promise<string[]> {
  const { sql } = world.rig;
  const { rows } = await sql.query<Record<string, unknown>>(
    "select phase, owner, wake, runnable_at, losses, finished_at, input from holdpoint.runs where run_id = $1",
    [runId],
  );
  const owners = await sql.query<Record<string, unknown>>(
    "select at, previous, next from chaos.owners where run_id = $1 order by no",
    [runId],
  );
  const log = await world.rig.log(runId);
  return [
    `run ${runId}: ${JSON.stringify(rows[0])}`,
    ...owners.rows.map((row) => `  owner ${JSON.stringify(row)}`),
    ...log.map((entry) => `  log ${JSON.stringify(entry)}`),
    ...entries.filter(({ key }) => key.startsWith(runId)).map((entry) => `  server ${JSON.stringify(entry)}`),
    ...world.slots.flatMap((slot) => slot.said(runId, 20).map((line) => `  dispatcher ${line}`)),
  ];
}
