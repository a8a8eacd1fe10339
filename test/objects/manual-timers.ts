import type { Timers } from "../../src/objects/timers.ts";

/** Timers whose time passes only when a test says so. */
export class ManualTimers implements Timers {
  #nowMs = 0;
  #waiting: { readonly dueMs: number; readonly callback: () => void }[] = [];

  nowMs(): number {
    return 1_700_000_000_000 + this.#nowMs;
  }

  monotonicMs(): number {
    return this.#nowMs;
  }

  after(delayMs: number, callback: () => void): () => void {
    const timer = { dueMs: this.#nowMs + delayMs, callback };
    this.#waiting.push(timer);
    return () => {
      this.#waiting = this.#waiting.filter((other) => other !== timer);
    };
  }

  /** Timers that have not fired. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /** Lets time pass, firing what becomes due in its order, and everything that follows from it in the job queue. */
  async advance(byMs: number): Promise<void> {
    const untilMs = this.#nowMs + byMs;
    await settled();
    for (;;) {
      const [next] = this.#waiting.filter((timer) => timer.dueMs <= untilMs).sort((a, b) => a.dueMs - b.dueMs);
      if (next === undefined) break;
      this.#waiting = this.#waiting.filter((timer) => timer !== next);
      this.#nowMs = Math.max(this.#nowMs, next.dueMs);
      next.callback();
      await settled();
    }
    this.#nowMs = untilMs;
  }
}

/** Resolves once all promise jobs that are possible without input or timers are done. */
export function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
