import type { Clock } from "../base/clock.ts";
import type { Logger } from "../base/log.ts";
import type { Sql } from "../journal/sql.ts";
import type { SandboxPool } from "../sandbox/port.ts";
import type { ScriptChecker } from "../typecheck/checker.ts";

export interface DispatcherOptions {
  /** How long others wait before they take over. */
  readonly leaseMs: number;
  /** Runs held in memory at once. */
  readonly runsMax: number;
  /** How often the journal is asked for work when no hint comes. */
  readonly pollMs: number;
  /** How long calls in flight may take to end at an orderly stop. */
  readonly graceMs: number;
}

export const DISPATCHER_DEFAULTS: DispatcherOptions = { leaseMs: 10_000, runsMax: 200, pollMs: 1_000, graceMs: 25_000 };

export interface DispatcherSpec {
  readonly sql: Sql;
  readonly toolsetId: number;
  /** Names the pod or the state folder: whoever starts in the same place knows that its predecessor is dead. */
  readonly place: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly sandbox: SandboxPool;
  readonly checker: ScriptChecker;
  readonly options?: Partial<DispatcherOptions>;
  /** Sends in all under Retry, in place of what the policies say: for tests. */
  readonly attemptsMax?: number;
}
