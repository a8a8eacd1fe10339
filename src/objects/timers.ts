import { type Clock, systemClock } from "../base/clock.ts";

/** A clock that can also be waited on, passed in so that tests advance time instead of sleeping. */
export interface Timers extends Clock {
  /**
   * Calls back once, after at least `delayMs` milliseconds of the monotonic clock, whatever their number.
   * @returns cancels it; calling that after it fired does nothing
   */
  after(delayMs: number, callback: () => void): () => void;
}

/** Node's own timers overflow at 2^31 ms and then fire at once, so longer waits are taken in steps of a day. */
const STEP_MS_MAX = 86_400_000;

/** The machine's own clocks and timers. */
export const systemTimers: Timers = {
  ...systemClock,
  after(delayMs, callback) {
    const dueMs = systemClock.monotonicMs() + delayMs;
    let timer: NodeJS.Timeout;
    const arm = (): void => {
      const restMs = dueMs - systemClock.monotonicMs();
      timer = setTimeout(restMs > STEP_MS_MAX ? arm : callback, Math.max(0, Math.min(restMs, STEP_MS_MAX)));
    };
    arm();
    return () => clearTimeout(timer);
  },
};

/** Resolves after `delayMs`, or as soon as the signal aborts; it never rejects. */
export function pause(timers: Timers, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const end = (): void => {
      cancel();
      signal?.removeEventListener("abort", end);
      resolve();
    };
    const cancel = timers.after(delayMs, end);
    signal?.addEventListener("abort", end, { once: true });
  });
}
