import type { Logger } from "../base/log.ts";
import type { RunEnd, RunProgress } from "../journal/claims.ts";
import type { DecidedHold, UnreadSignal } from "../journal/holds.ts";
import type { Delivery } from "../sandbox/port.ts";
import type { ToolSource } from "../tools/port.ts";
import type { CallableTool } from "./pinned-world.ts";

/** What a run's driver needs of the process that holds the run. */
export interface DriverHost {
  readonly log: Logger;
  /** The source that reaches a tool's server. */
  source(tool: CallableTool): ToolSource;
  /** Resolves true when this process may send, false when the run is not its own any more. */
  mayAct(): Promise<boolean>;
  /** Whether calls are held back now: the Toolset is suspended, or this process is stopping. */
  holdsBack(): boolean;
  databaseNowMs(): number;
  /** A number in [0, 1), for jitter. */
  random(): number;
  /** The run has ended. */
  finish(end: RunEnd): Promise<void>;
  /**
   * The run has nothing to do in this process until `runnableAtMs`, or until somebody wakes it.
   * @returns false when something came meanwhile: the run is still held
   */
  release(progress: RunProgress, runnableAtMs: number | undefined): Promise<boolean>;
  /** The run cannot be driven any further by this driver, which writes nothing more: it is taken up anew after a pause. */
  giveUp(): void;
  /** How the run looks has changed while it is held. */
  note(progress: RunProgress): void;
}

/** What came to a run from outside since it was looked at last. */
export interface RunNews {
  readonly decided: readonly DecidedHold[];
  readonly signals: readonly UnreadSignal[];
}

/** What the script is to be told next. */
export interface QueuedDelivery {
  readonly delivery: Delivery;
  /** Present when the outcome must be durable before the script learns of it. */
  readonly committed?: Promise<void>;
}
