import { type BackoffPolicy, backoffDelayMs } from "../base/backoff.ts";
import { keyText } from "./kinds.ts";
import type { ObjectKey } from "./store.ts";
import { systemTimers, type Timers } from "./timers.ts";

/** What a pass over one object asks for: to be run again after that many milliseconds, or (undefined) only when it changes. */
export interface WorkOutcome {
  readonly requeueAfterMs?: number;
}

/** One pass that failed, for logs and metrics. */
export interface WorkFailure {
  readonly key: ObjectKey;
  readonly error: unknown;
  /** Passes over this key that failed in a row, this one included. */
  readonly failures: number;
  readonly retryAfterMs: number;
}

export interface WorkQueueOptions {
  /** One pass over the newest state of an object. A rejection is a failure: the key comes again after a growing pause. */
  readonly process: (key: ObjectKey, signal: AbortSignal) => Promise<WorkOutcome | undefined>;
  /** Passes at the same time, over different keys. */
  readonly concurrency: number;
  readonly onFailure: (failure: WorkFailure) => void;
  /** The pauses between failed passes over one key. */
  readonly retry?: BackoffPolicy;
  readonly timers?: Timers;
  readonly random?: () => number;
}

/** From 100 ms to 5 minutes: quick for a conflict, and an object that is refused for days costs 12 passes an hour. */
const RETRY: BackoffPolicy = { firstMs: 100, maxMs: 300_000, factor: 2 };

interface Item {
  readonly key: ObjectKey;
  running: boolean;
  /** Added while it ran: the pass may have missed the change, so another follows. */
  changed: boolean;
  failures: number;
  pending: { readonly dueMs: number; readonly cancel: () => void } | undefined;
}

/**
 * Keys waiting for a pass of the reconciler. Adding is idempotent: a key waits once, however often it is added, and is never
 * in two passes at once. A key that is due later waits on a timer; a pass that starts before then takes its place, as it sees
 * the newest state and says itself when to come again.
 */
export class WorkQueue {
  readonly #options: Required<WorkQueueOptions>;
  readonly #items = new Map<string, Item>();
  /** Texts of the keys that wait for a free worker, oldest first. */
  readonly #ready = new Set<string>();
  readonly #abort = new AbortController();
  #running = 0;
  #closed = false;
  #whenIdle: (() => void) | undefined;

  constructor(options: WorkQueueOptions) {
    this.#options = { retry: RETRY, timers: systemTimers, random: Math.random, ...options };
  }

  /** Keys that wait for a worker, without those that run or are due later. */
  get depth(): number {
    return this.#ready.size;
  }

  /** Passes that are going on. */
  get running(): number {
    return this.#running;
  }

  /** Asks for a pass as soon as a worker is free. */
  add(key: ObjectKey): void {
    if (this.#closed) return;
    const item = this.#item(key);
    if (item.running) item.changed = true;
    else this.#makeReady(item);
  }

  /** Asks for a pass after that many milliseconds, or sooner if one was asked for sooner. */
  addAfter(key: ObjectKey, delayMs: number): void {
    if (this.#closed) return;
    this.#schedule(this.#item(key), delayMs);
  }

  /**
   * Takes nothing new, drops what is due later, and lets what waits or runs come to its end within `drainMs`; then the rest is
   * dropped and the running passes' signal aborts.
   * @returns whether everything came to its end
   */
  async close(drainMs: number): Promise<boolean> {
    this.#closed = true;
    for (const item of this.#items.values()) item.pending?.cancel();
    if (!this.#idle() && drainMs > 0) await this.#waitForIdle(drainMs);
    const drained = this.#idle();
    this.#ready.clear();
    this.#abort.abort(new Error("the work queue was closed"));
    return drained;
  }

  #item(key: ObjectKey): Item {
    const text = keyText(key);
    const known = this.#items.get(text);
    if (known !== undefined) return known;
    const item: Item = { key, running: false, changed: false, failures: 0, pending: undefined };
    this.#items.set(text, item);
    return item;
  }

  #makeReady(item: Item): void {
    this.#ready.add(keyText(item.key));
    this.#startPasses();
  }

  #schedule(item: Item, delayMs: number): void {
    const { timers } = this.#options;
    const dueMs = timers.monotonicMs() + delayMs;
    if (item.pending !== undefined && item.pending.dueMs <= dueMs) return;
    item.pending?.cancel();
    const fire = (): void => {
      item.pending = undefined;
      this.add(item.key);
    };
    item.pending = { dueMs, cancel: timers.after(delayMs, fire) };
  }

  #startPasses(): void {
    while (this.#running < this.#options.concurrency) {
      const [text] = this.#ready;
      if (text === undefined) return;
      this.#ready.delete(text);
      const item = this.#items.get(text);
      if (item !== undefined) void this.#pass(item);
    }
  }

  async #pass(item: Item): Promise<void> {
    item.running = true;
    item.changed = false;
    item.pending?.cancel();
    item.pending = undefined;
    this.#running += 1;
    const again = await this.#process(item);
    this.#running -= 1;
    item.running = false;
    if (!this.#closed) this.#arrangeNext(item, again);
    this.#startPasses();
    if (this.#idle()) this.#whenIdle?.();
  }

  async #process(item: Item): Promise<{ afterMs: number | undefined; failed: boolean }> {
    try {
      const outcome = await this.#options.process(item.key, this.#abort.signal);
      item.failures = 0;
      return { afterMs: outcome?.requeueAfterMs, failed: false };
    } catch (error) {
      item.failures += 1;
      const retryAfterMs = backoffDelayMs(this.#options.retry, item.failures, this.#options.random());
      this.#report({ key: item.key, error, failures: item.failures, retryAfterMs });
      return { afterMs: retryAfterMs, failed: true };
    }
  }

  #arrangeNext(item: Item, again: { afterMs: number | undefined; failed: boolean }): void {
    // A failing pass often changes its own object (a condition that says so): the first pause keeps that from spinning.
    const changedDelayMs = again.failed ? Math.min(again.afterMs ?? 0, this.#options.retry.firstMs) : 0;
    const delayMs = item.changed ? changedDelayMs : again.afterMs;
    if (delayMs === 0) this.#makeReady(item);
    else if (delayMs !== undefined) this.#schedule(item, delayMs);
    else if (item.pending === undefined) this.#items.delete(keyText(item.key));
  }

  #report(failure: WorkFailure): void {
    try {
      this.#options.onFailure(failure);
    } catch {
      // The reporter is a logger: its own failure must not stop the queue, and there is nowhere else to tell it.
    }
  }

  #idle(): boolean {
    return this.#running === 0 && this.#ready.size === 0;
  }

  #waitForIdle(drainMs: number): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.#options.timers.after(drainMs, () => {
        this.#whenIdle = undefined;
        resolve();
      });
      this.#whenIdle = () => {
        cancel();
        resolve();
      };
    });
  }
}
