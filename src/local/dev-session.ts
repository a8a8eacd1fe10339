import { setTimeout as delay } from "node:timers/promises";
import type { Run } from "../api/resources.ts";
import type { ParkedCall } from "../api/run-status.ts";
import type { ToolsetSpec } from "../api/toolset-spec.ts";
import type { ToolsetStatus } from "../api/toolset-status.ts";
import { visibleText } from "../base/visible-text.ts";
import { readArguments } from "../journal/log-tail.ts";
import { isRunIdle } from "../journal/run-idle.ts";
import { viewRunOfObject } from "../journal/runs.ts";
import { classifyFailure, type Sql } from "../journal/sql.ts";
import type { MemoryObjectStore } from "../objects/memory-store.ts";
import type { ObjectKey, StoredObject } from "../objects/store.ts";
import { canAsk, TerminalQuestions } from "./ask-in-terminal.ts";
import { CallProgress } from "./call-progress.ts";
import type { DevOptions } from "./dev-options.ts";
import { decideLocally, type WaitingRun } from "./local-decisions.ts";
import { ObjectProgress } from "./object-progress.ts";
import { outlookOf, undecidedCalls } from "./run-outlook.ts";
import type { Voice } from "./voice.ts";

/** The objects that the command's files name. */
export interface NamedObjects {
  readonly toolsets: readonly ObjectKey[];
  readonly runs: readonly { readonly key: ObjectKey; readonly file: string }[];
}

/** Why the watching ended. */
export type SessionEnd =
  | { readonly kind: "finished" }
  | { readonly kind: "unpinned"; readonly message: string }
  | { readonly kind: "waiting"; readonly waiting: readonly WaitingRun[] }
  | { readonly kind: "interrupted" };

const LOOK_EVERY_MS = 250;
/** Nobody looks at a terminal that waits for longer; the same command goes on later. */
const JOURNAL_AWAY_MS_MAX = 10 * 60_000;
/** Reasons of Ready=False that pass by themselves; every other one needs another manifest. */
const PASSING_REASONS = new Set(["Pinning", "ServerUnreachable", "AuthenticationFailed", "PagingLoop", "Reconciling"]);

export interface SessionParts {
  readonly store: MemoryObjectStore;
  readonly sql: Sql;
  readonly options: DevOptions;
  readonly voice: Voice;
  /** Who decides: the operating system's user. */
  readonly user: string;
}

/** Watches the named objects until nothing more happens by itself, tells what happens, and has parked calls decided. */
export class DevSession {
  readonly #parts: SessionParts;
  readonly #named: NamedObjects;
  readonly #calls: CallProgress;
  readonly #objects: ObjectProgress;
  readonly #questions: TerminalQuestions | undefined;
  /** Somebody answered `q`, or the terminal's input ended. */
  #quit = false;
  #journalAwaySinceMs: number | undefined;

  constructor(parts: SessionParts, named: NamedObjects) {
    this.#parts = parts;
    this.#named = named;
    this.#calls = new CallProgress(parts.sql, parts.voice);
    this.#objects = new ObjectProgress(parts.voice);
    this.#questions = parts.options.approve === "ask" && canAsk() ? new TerminalQuestions(parts.voice) : undefined;
  }

  /** What an earlier start recorded was told then. To be called before anything runs. */
  async skipPast(): Promise<void> {
    for (const { run } of await this.#runs()) await this.#calls.skipToEnd(run);
  }

  async watch(stop: AbortSignal): Promise<SessionEnd> {
    const pinDeadlineMs = performance.now() + this.#parts.options.pinTimeoutMs;
    try {
      for (;;) {
        const end = await this.#look(pinDeadlineMs, stop).catch((error: unknown) => this.#outlast(error));
        if (end !== undefined) return end;
        await delay(LOOK_EVERY_MS, undefined, { signal: stop }).catch(() => {});
        if (stop.aborted) return { kind: "interrupted" };
      }
    } finally {
      this.#questions?.close();
    }
  }

  /** A database that is away for a while ends nothing: all goes on when it is back (semantics 14.6). */
  #outlast(error: unknown): undefined {
    if (classifyFailure(error) !== "unavailable") throw error;
    const nowMs = performance.now();
    if (this.#journalAwaySinceMs === undefined)
      this.#parts.voice.say("The journal does not answer; everything goes on when it does.");
    this.#journalAwaySinceMs ??= nowMs;
    if (nowMs - this.#journalAwaySinceMs > JOURNAL_AWAY_MS_MAX) throw error;
  }

  /** One look at everything; undefined while something goes on. */
  async #look(pinDeadlineMs: number, stop: AbortSignal): Promise<SessionEnd | undefined> {
    const pins = await this.#lookAtToolsets();
    const runs = await this.#runs();
    const waiting: WaitingRun[] = [];
    let going = runs.length < this.#named.runs.length;
    for (const run of runs) {
      const state = await this.#lookAtRun(run, stop);
      if (stop.aborted) return { kind: "interrupted" };
      if (state === "going") going = true;
      if (typeof state === "object") waiting.push({ ...run, ...state, parked: undecidedCalls(run.run) });
    }
    this.#journalAwaySinceMs = undefined;
    if (this.#quit) return { kind: "waiting", waiting };
    const late = performance.now() > pinDeadlineMs ? pins.pending : undefined;
    const unpinned = pins.refused ?? late;
    // A run that goes on has its pin: only what is new suffers from a Toolset that is not ready.
    if (unpinned !== undefined && runs.every(({ run }) => !hasPin(run) || outlookOf(run) === "finished"))
      return { kind: "unpinned", message: unpinned };
    if (going) return undefined;
    if (waiting.length > 0) return { kind: "waiting", waiting };
    return runs.length === 0 && pins.pending !== undefined ? undefined : { kind: "finished" };
  }

  /** `refused`: only another manifest helps. `pending`: what is not pinned yet, and why. */
  async #lookAtToolsets(): Promise<{ refused?: string; pending?: string }> {
    const found: { refused?: string; pending?: string } = {};
    for (const key of this.#named.toolsets) {
      const toolset = await this.#parts.store.read("Toolset", key);
      if (toolset === undefined) continue;
      this.#objects.tellToolset(toolset);
      const { conditions = [] } = (toolset.status ?? {}) as ToolsetStatus;
      const ready = conditions.find(({ type }) => type === "Ready");
      const current = ready?.observedGeneration === toolset.metadata.generation ? ready : undefined;
      if (current?.status === "True") continue;
      const why = current === undefined ? "the controller has not answered" : `${current.reason}: ${current.message}`;
      found.pending = `toolset/${key.name} is not pinned: ${why}`;
      if (current !== undefined && !PASSING_REASONS.has(current.reason)) found.refused = found.pending;
    }
    return found;
  }

  async #lookAtRun({ run }: NamedRun, stop: AbortSignal): Promise<"finished" | "going" | Pick<WaitingRun, "waitsFor">> {
    await this.#calls.tell(run);
    this.#objects.tellRun(run);
    const outlook = outlookOf(run);
    if (outlook === "finished") return "finished";
    for (const call of undecidedCalls(run)) if (await this.#decide(run, call, stop)) return "going";
    if (this.#quit) return { waitsFor: "decision" };
    if (await this.#isSuspended(run)) return { waitsFor: "toolset" };
    if (outlook === "going" || !(await isRunIdle(this.#parts.sql, run.metadata.uid))) return "going";
    return { waitsFor: outlook === "signal" ? "signal" : "decision" };
  }

  /** A run of a suspended Toolset goes on by itself only until its calls in flight have ended (semantics 7.10). */
  async #isSuspended({ metadata: { namespace }, spec, status }: LocalRun): Promise<boolean> {
    const toolset = await this.#parts.store.read("Toolset", { namespace, name: spec.toolset.name });
    const { suspend = false } = (toolset?.spec ?? {}) as ToolsetSpec;
    return suspend && (status?.calls?.inFlight ?? 0) === 0;
  }

  /** Has one parked call decided, where there is somebody or a flag that can. @returns whether a decision was written */
  async #decide(run: LocalRun, call: ParkedCall, stop: AbortSignal): Promise<boolean> {
    const { store, options, user, voice } = this.#parts;
    if (options.approve === "all" && call.reason === "ApprovalRequired") {
      voice.say(`  call ${call.id} ${visibleText(call.tool)} is approved: --approve all`);
      await decideLocally(store, run, call, { action: "Approve", by: user, reason: "--approve all" });
      return true;
    }
    if (this.#questions === undefined || this.#quit || !call.actions.includes("Approve")) return false;
    const answer = await this.#questions.ask(run, call, await this.#wholeArguments(run, call), stop);
    if (answer.kind === "quit") {
      this.#quit = true;
      return false;
    }
    const decision = answer.kind === "approve" ? { action: "Approve" as const } : rejection(answer.reason);
    await decideLocally(store, run, call, { ...decision, by: user });
    return true;
  }

  async #wholeArguments(run: LocalRun, call: ParkedCall): Promise<string | undefined> {
    const view = await viewRunOfObject(this.#parts.sql, run.metadata.uid);
    return view && (await readArguments(this.#parts.sql, view.toolsetId, view.runId, call.seq));
  }

  async #runs(): Promise<NamedRun[]> {
    const read = this.#named.runs.map(async ({ key, file }) => ({
      run: await this.#parts.store.read("Run", key),
      file,
    }));
    return (await Promise.all(read)).filter(({ run }) => run !== undefined) as NamedRun[];
  }
}

/** A Run as the store has it: what was let in fits the schema that the types come from. */
type LocalRun = StoredObject & Pick<Run, "spec" | "status">;

interface NamedRun {
  readonly run: LocalRun;
  readonly file: string;
}

function hasPin(run: LocalRun): boolean {
  return run.status?.toolsetDigest !== undefined;
}

function rejection(reason: string) {
  return { action: "Reject" as const, ...(reason === "" ? {} : { reason }) };
}
