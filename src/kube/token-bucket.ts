import type { Clock } from "../base/clock.ts";

/** Lets a burst pass and then so many a time: a bucket of tokens that refills by the monotonic clock. */
export class TokenBucket {
  readonly #clock: Clock;
  readonly #burst: number;
  readonly #refillMs: number;
  #tokens: number;
  #countedAtMs: number;

  /** @param refillMs the time after which one more token is there, up to `burst` */
  constructor(clock: Clock, burst: number, refillMs: number) {
    this.#clock = clock;
    this.#burst = burst;
    this.#refillMs = refillMs;
    this.#tokens = burst;
    this.#countedAtMs = clock.monotonicMs();
  }

  /** Takes a token if there is one. */
  take(): boolean {
    const nowMs = this.#clock.monotonicMs();
    this.#tokens = Math.min(this.#burst, this.#tokens + (nowMs - this.#countedAtMs) / this.#refillMs);
    this.#countedAtMs = nowMs;
    if (this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }
}
