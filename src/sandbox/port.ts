import type { CallErrorCode } from "../base/errors.ts";

/**
 * The sandbox as its dispatcher sees it: a deterministic machine. It is started once, then told one delivery at a time;
 * after each it runs until its job queue is empty and answers with one turn. The same spec and the same deliveries give
 * the same turns, on every machine, so that replay is telling it the same deliveries again (semantics 3.3, 3.6).
 */
export interface SandboxPool {
  /** Makes an instance, evaluates the module and calls its default export. Never rejects for what a script does. */
  start(spec: ScriptSpec): Promise<StartedScript>;
  /** Ends every worker thread. Open scripts are dropped. */
  close(): Promise<void>;
}

export interface StartedScript {
  readonly script: Script;
  readonly firstTurn: Turn;
}

/** One script in one instance. Deliveries are given one after another: the next only after the turn of the one before. */
export interface Script {
  deliver(delivery: Delivery): Promise<Turn>;
  /** Gives the instance's memory back. Safe at any moment, also while a turn is under way. */
  dispose(): void;
}

export interface ScriptSpec {
  readonly runId: string;
  /** The module as JavaScript: an ES module, types already stripped with positions kept. */
  readonly moduleSource: string;
  /** The Run's input as exact JSON text; absent when the Run has none (the script then gets `undefined`). */
  readonly inputText?: string;
  /** Seed of Math.random and crypto.randomUUID: any text, kept with the run. */
  readonly seed: string;
  /** What `Date.now()` is until the first delivery. */
  readonly startedAtMs: number;
  /** The Toolset's name and pin digest, for `run.toolset` of module "rewind". */
  readonly toolset: { readonly name: string; readonly digest: string };
  /** The tools that "rewind:tools" exports: group name to the names of its tools, as the servers define them. */
  readonly groups: Readonly<Record<string, readonly string[]>>;
  readonly limits: ScriptLimits;
  /** The numbered behaviours this run was admitted with: a change that replay could notice asks for its number here. */
  readonly behaviours: readonly number[];
}

export interface ScriptLimits {
  /** Of the whole WASM instance. */
  readonly memoryBytes: number;
  /** CPU time of its thread between two deliveries. */
  readonly cpuMs: number;
  /** Of one call's arguments as JSON text, UTF-8. */
  readonly argumentBytes: number;
  /** Of all console lines of the run together, UTF-8; what is beyond is dropped with one closing line that says so. */
  readonly consoleBytes: number;
}

/** What the script asked for in a turn, in the order it asked. `ref` counts a run's commands from 1, so it is the same on replay. */
export type Command =
  | {
      readonly kind: "call";
      readonly ref: number;
      readonly tool: string;
      readonly argumentsText: string;
      readonly line?: number;
    }
  | { readonly kind: "sleep"; readonly ref: number; readonly untilMs: number; readonly line?: number }
  | {
      readonly kind: "signal";
      readonly ref: number;
      readonly name: string;
      readonly timeoutMs?: number;
      readonly line?: number;
    };

/** What the script is told: how the command of that `ref` ended, and what time it is then (never earlier than before). */
export interface Delivery {
  readonly ref: number;
  readonly atMs: number;
  readonly outcome: Outcome;
}

/** `valueText` is exact JSON text; absent for `undefined` (a sleep that ended, a signal that timed out). */
export type Outcome =
  | { readonly ok: true; readonly valueText?: string }
  | { readonly ok: false; readonly error: CallError };

/** A failed call as the script gets it: a `ToolError` with these fields (semantics 4.7). */
export interface CallError {
  readonly code: CallErrorCode;
  readonly message: string;
  readonly tool: string;
  /** Absent for a call that was refused before it was recorded. */
  readonly seq?: number;
  readonly outcomeUnknown: boolean;
  readonly attempts: number;
  /** What else the error carries for the script, as exact JSON text (a failed tool's content, the faults' paths). */
  readonly detailsText?: string;
}

export interface Turn {
  readonly commands: readonly Command[];
  readonly printed: readonly PrintedLine[];
  readonly state: TurnState;
  /** CPU time of this turn, for the move to a thread of its own and for metrics. */
  readonly cpuMs: number;
}

export interface PrintedLine {
  readonly level: "debug" | "log" | "info" | "warn" | "error";
  readonly text: string;
}

export type TurnState =
  /** The script waits for the refs it asked for; if none is open, nothing can wake it (ScriptStalled, at `line` if known). */
  | { readonly kind: "waiting"; readonly line?: number; readonly unhandled?: UnhandledFailure }
  /** It returned. Calls it issued may still be open; the run ends when they are settled (semantics 3.9). */
  | { readonly kind: "returned"; readonly valueText?: string; readonly unhandled?: UnhandledFailure }
  /** It ended by an error: one it threw, or one call's error that it did not catch. */
  | { readonly kind: "failed"; readonly error: ScriptFailure };

/** A failed call whose promise nobody has handled when the turn ended (semantics 3.9). */
export interface UnhandledFailure {
  readonly error: CallError;
  readonly line?: number;
}

export interface ScriptFailure {
  readonly code: CallErrorCode | "ScriptThrew" | "ResultNotSerializable" | "MemoryLimit" | "CpuLimit" | "ScriptInvalid";
  readonly message: string;
  readonly line?: number;
  readonly column?: number;
  /** The call's error, when an uncaught ToolError ended the script. */
  readonly callError?: CallError;
}
