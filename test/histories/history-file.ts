import type { LogEntry } from "../../src/journal/log-records.ts";

/** A run as it was recorded once: what its script was given, and every entry of its log. Replayed for ever. */
export interface HistoryFile {
  /** What it is about, in a few words. */
  readonly about: string;
  readonly runId: string;
  readonly moduleSource: string;
  readonly inputText?: string;
  readonly seed: string;
  readonly startedAtMs: number;
  readonly behaviours: readonly number[];
  readonly groups: Readonly<Record<string, readonly string[]>>;
  readonly entries: readonly LogEntry[];
  /** How the run ended. */
  readonly phase: string;
  readonly resultText?: string;
  readonly errorCode?: string;
}
