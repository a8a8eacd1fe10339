import type { EngineSource } from "./engine-source.ts";
import type { Delivery, ScriptSpec, Turn } from "./port.ts";

/** What a worker thread is given when it starts. */
export interface WorkerStart {
  readonly source: EngineSource;
  /** See RunningTurn. */
  readonly running: SharedArrayBuffer;
}

/** A script's next step. With a spec the instance is made anew first, and all but the last step are a repetition. */
export interface StepRequest {
  readonly kind: "step";
  readonly scriptId: number;
  readonly spec?: ScriptSpec;
  readonly deliveries: readonly Delivery[];
  /** CPU time that the step may use on this thread. */
  readonly budgetMs: number;
}

export interface DropRequest {
  readonly kind: "drop";
  readonly scriptId: number;
}

export type WorkerRequest = StepRequest | DropRequest;

/** The turn of the last step, or `preempted`: it used up a budget smaller than the script's limit, and was given up. */
export interface StepAnswer {
  readonly kind: "turn";
  readonly scriptId: number;
  readonly turn?: Turn;
  readonly memoryBytes: number;
}

export interface ReadyAnswer {
  readonly kind: "ready";
  /** The operating system's id of the thread, where it tells it. */
  readonly threadId?: number;
}

export type WorkerAnswer = StepAnswer | ReadyAnswer;

/**
 * What a worker runs now, in shared memory, so that its pool can look while the worker is busy: the script's id (0 = none),
 * the thread's CPU time when its turn began, and the turn's budget, both in milliseconds.
 */
export class RunningTurn {
  readonly buffer: SharedArrayBuffer;
  readonly #ids: Int32Array;
  readonly #times: Float64Array;

  constructor(buffer = new SharedArrayBuffer(32)) {
    this.buffer = buffer;
    this.#ids = new Int32Array(buffer, 0, 2);
    this.#times = new Float64Array(buffer, 8, 2);
  }

  /** Called by the worker. The times are in place before the id tells of them. */
  begin(scriptId: number, startedCpuMs: number, budgetMs: number): void {
    this.#times[0] = startedCpuMs;
    this.#times[1] = budgetMs;
    Atomics.add(this.#ids, 1, 1);
    Atomics.store(this.#ids, 0, scriptId);
  }

  end(): void {
    Atomics.store(this.#ids, 0, 0);
  }

  /** Called by the pool. `turn` differs from turn to turn. */
  read(): { scriptId: number; turn: number; startedCpuMs: number; budgetMs: number } {
    const scriptId = Atomics.load(this.#ids, 0);
    return {
      scriptId,
      turn: Atomics.load(this.#ids, 1),
      startedCpuMs: this.#times[0] ?? 0,
      budgetMs: this.#times[1] ?? 0,
    };
  }
}
