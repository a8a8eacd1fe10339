import type { Clock } from "../base/clock.ts";
import type { Logger } from "../base/log.ts";
import { readLog } from "../journal/append.ts";
import { type ClaimedRun, startRun } from "../journal/claims.ts";
import type { AcceptanceNote, RunFailure, ScriptDiagnostic } from "../journal/documents.ts";
import type { GroupCommit } from "../journal/group-commit.ts";
import type { Sql } from "../journal/sql.ts";
import { currentBehaviours } from "../sandbox/behaviours.ts";
import { engineBuild } from "../sandbox/engine-source.ts";
import type { SandboxPool, ScriptSpec } from "../sandbox/port.ts";
import type { Diagnostic, ScriptChecker } from "../typecheck/checker.ts";
import type { DriverHost } from "./driver-host.ts";
import { HistoryFold, type RunHistory } from "./history.ts";
import type { PinnedWorld, PinnedWorlds } from "./pinned-world.ts";
import { readNews } from "./read-news.ts";
import { ReplayMismatch, replay } from "./replay.ts";
import { RunDriver } from "./run-driver.ts";
import { RunLog } from "./run-log.ts";

export interface OpenRunSpec {
  readonly sql: Sql;
  readonly toolsetId: number;
  readonly toolsetName: string;
  readonly incarnationId: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly sandbox: SandboxPool;
  readonly checker: ScriptChecker;
  readonly worlds: PinnedWorlds;
  readonly writer: GroupCommit;
  readonly host: DriverHost;
}

/** A run's script as it was accepted once and for all. */
interface AcceptedScript {
  readonly moduleSource: string;
  readonly startedAtMs: number;
  readonly behaviours: readonly number[];
}

/**
 * Takes a claimed run up: accepts its script if that was not done, tells a fresh sandbox what the log says it was told, and
 * lets it go on from there.
 * @returns undefined when the run ended by it (not accepted, cancelled, replay went another way)
 */
export async function openRun(run: ClaimedRun, spec: OpenRunSpec): Promise<RunDriver | undefined> {
  if (run.cancelReason !== undefined) {
    await spec.host.finish({
      runId: run.runId,
      phase: "Cancelled",
      errorText: failureText({ code: "Cancelled", message: run.cancelReason }),
    });
    return undefined;
  }
  const world = await spec.worlds.get(run.pinDigest);
  const before = acceptedBefore(run);
  const accepted = before ?? (await accept(run, world, spec));
  if (!accepted) return undefined;
  // A run that no owner had accepted yet has no log, and one that was never woken no news: a thousand new runs ask nothing.
  const history = before ? await readHistory(spec, run.runId) : new HistoryFold().history();
  const { script, firstTurn } = await spec.sandbox.start(scriptSpec(run, spec.toolsetName, world, accepted));
  try {
    const replayed = await replay(script, firstTurn, accepted.startedAtMs, history);
    const from = {
      lastN: history.lastN,
      lastAtMs: Math.max(history.lastAtMs, accepted.startedAtMs),
      bytes: history.bytes,
    };
    const log = new RunLog(spec.writer, run.runId, () => spec.host.databaseNowMs(), from);
    const driver = new RunDriver({ run, host: spec.host, world, log, script, history });
    // What came before the claim is part of the beginning; what comes after it wakes the run.
    driver.begin(
      replayed,
      run.wake === 0 ? { decided: [], signals: [] } : await readNews(spec.sql, spec.toolsetId, run.runId, 0),
    );
    return driver;
  } catch (error) {
    script.dispose();
    if (!(error instanceof ReplayMismatch)) throw error;
    await spec.host.finish({
      runId: run.runId,
      phase: "Failed",
      errorText: failureText({ code: "NondeterministicScript", message: error.message }),
    });
    return undefined;
  }
}

function acceptedBefore(run: ClaimedRun): AcceptedScript | undefined {
  const { moduleSource, startedAtMs, behaviours } = run;
  if (moduleSource === undefined || startedAtMs === undefined) return undefined;
  return { moduleSource, startedAtMs, behaviours: behaviours ?? [] };
}

/** Type-checks the script before its first line runs. One that is refused ends for good (semantics 3.2). */
async function accept(run: ClaimedRun, world: PinnedWorld, spec: OpenRunSpec): Promise<AcceptedScript | undefined> {
  const checked = await spec.checker.check({ declarationText: world.declarationText(), script: run.script });
  if (!checked.ok) {
    const note: AcceptanceNote = {
      code: checked.code,
      message: describeRefusal(checked.code, checked.diagnostics),
      diagnostics: checked.diagnostics.map(plainDiagnostic),
    };
    const first = checked.diagnostics[0];
    const place = first && { line: first.line, column: first.column };
    await finishRefused(run, spec, note, { code: checked.code, message: note.message, ...place });
    return undefined;
  }
  const note: AcceptanceNote = { message: "", diagnostics: checked.warnings.map(plainDiagnostic) };
  const start = {
    runId: run.runId,
    moduleSource: checked.moduleSource,
    engine: engineBuild(),
    behaviours: currentBehaviours,
    noteText: JSON.stringify(note),
  };
  const { owned, startedAtMs } = await startRun(spec.sql, spec.incarnationId, start);
  return owned ? { moduleSource: checked.moduleSource, startedAtMs, behaviours: currentBehaviours } : undefined;
}

async function finishRefused(
  run: ClaimedRun,
  spec: OpenRunSpec,
  note: AcceptanceNote,
  failure: RunFailure,
): Promise<void> {
  await spec.host.finish({
    runId: run.runId,
    phase: "Failed",
    errorText: failureText(failure),
    refusedNoteText: JSON.stringify(note),
  });
}

function describeRefusal(code: string, diagnostics: readonly Diagnostic[]): string {
  const first = diagnostics[0];
  if (!first)
    return code === "ScriptCheckTooComplex" ? "the type-checker gave up on the script" : "the script is not valid";
  const rest = diagnostics.length > 1 ? ` (and ${diagnostics.length - 1} more)` : "";
  return `line ${first.line}, column ${first.column}: ${sayDiagnostic(first)}${rest}`;
}

function sayDiagnostic({ text, hint }: Diagnostic): string {
  return hint === undefined ? text : `${text} ${hint}`;
}

function plainDiagnostic(diagnostic: Diagnostic): ScriptDiagnostic {
  return { line: diagnostic.line, column: diagnostic.column, message: sayDiagnostic(diagnostic) };
}

async function readHistory(spec: OpenRunSpec, runId: string): Promise<RunHistory> {
  const fold = new HistoryFold();
  for await (const entry of readLog(spec.sql, spec.toolsetId, runId)) fold.add(entry);
  return fold.history();
}

function scriptSpec(run: ClaimedRun, toolsetName: string, world: PinnedWorld, accepted: AcceptedScript): ScriptSpec {
  const { memoryBytes, cpuMs, argumentBytes, consoleBytes } = world.limits;
  return {
    runId: run.runId,
    moduleSource: accepted.moduleSource,
    ...(run.inputText === undefined ? {} : { inputText: run.inputText }),
    seed: run.seed,
    startedAtMs: accepted.startedAtMs,
    toolset: { name: toolsetName, digest: world.pin.digest },
    groups: world.groups,
    limits: { memoryBytes, cpuMs, argumentBytes, consoleBytes },
    behaviours: accepted.behaviours,
  };
}

function failureText(failure: RunFailure): string {
  return JSON.stringify(failure);
}
