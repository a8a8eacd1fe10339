import type { Clock } from "../base/clock.ts";
import type { Logger } from "../base/log.ts";
import { registerIncarnation, renewLease, retireIncarnation } from "../journal/incarnations.ts";
import type { Sql } from "../journal/sql.ts";

/** How far before its end a lease is no longer acted upon: clock drift and a slow event loop fit in. */
const MARGIN_SHARE = 0.2;
const RENEWALS_PER_LEASE = 4;

/**
 * The lease of this process: renewed every few seconds, however many runs it holds. It only tells others when they may take
 * over; a process whose lease ran out sends nothing, renews as soon as the database answers, and goes on if nobody marked it
 * dead meanwhile (journal.md, Ownership).
 */
export class Lease {
  readonly id: string;
  /** Resolves when somebody marked this incarnation dead, or it was given up. */
  readonly ended: Promise<void>;
  readonly #sql: Sql;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #leaseMs: number;
  #end: () => void = () => {};
  #dead = false;
  #validUntilMonotonicMs: number;
  #offsetMs: number;
  #timer: NodeJS.Timeout | undefined;
  #waiters: (() => void)[] = [];

  private constructor(
    sql: Sql,
    clock: Clock,
    log: Logger,
    leaseMs: number,
    registered: { id: string; requestedAtMs: number },
  ) {
    this.id = registered.id;
    this.#sql = sql;
    this.#clock = clock;
    this.#log = log;
    this.#leaseMs = leaseMs;
    this.#validUntilMonotonicMs = registered.requestedAtMs + leaseMs * (1 - MARGIN_SHARE);
    this.#offsetMs = clock.nowMs() - clock.monotonicMs();
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
  }

  /** Registers a new incarnation and begins to renew it. */
  static async acquire(
    sql: Sql,
    clock: Clock,
    log: Logger,
    spec: { toolsetId: number; place: string; leaseMs: number },
  ): Promise<Lease> {
    const requestedAtMs = clock.monotonicMs();
    const id = await registerIncarnation(sql, spec);
    const lease = new Lease(sql, clock, log, spec.leaseMs, { id, requestedAtMs });
    await lease.#renew();
    return lease;
  }

  get dead(): boolean {
    return this.#dead;
  }

  /** Whether this process may act now, judged without asking: a renewal counts from the moment its request left. */
  get valid(): boolean {
    return !this.#dead && this.#clock.monotonicMs() < this.#validUntilMonotonicMs;
  }

  /** The database's clock, estimated from the last renewal. */
  databaseNowMs(): number {
    return Math.round(this.#clock.monotonicMs() + this.#offsetMs);
  }

  /** Resolves true once the lease is valid, false when this incarnation is dead. */
  async untilValid(): Promise<boolean> {
    while (!this.#dead && !this.valid) await new Promise<void>((resolve) => this.#waiters.push(resolve));
    return !this.#dead;
  }

  async #renew(): Promise<void> {
    const requestedAtMs = this.#clock.monotonicMs();
    try {
      const nowMs = await renewLease(this.#sql, this.id, this.#leaseMs);
      if (nowMs === undefined) return this.#die();
      this.#offsetMs = nowMs - (requestedAtMs + this.#clock.monotonicMs()) / 2;
      this.#validUntilMonotonicMs = requestedAtMs + this.#leaseMs * (1 - MARGIN_SHARE);
      this.#wake();
    } catch (error) {
      this.#log.warn({ err: error }, "the lease could not be renewed; nothing is sent until it is");
    }
    if (!this.#dead) this.#timer = setTimeout(() => void this.#renew(), this.#leaseMs / RENEWALS_PER_LEASE);
  }

  #die(): void {
    this.#dead = true;
    clearTimeout(this.#timer);
    this.#end();
    this.#wake();
  }

  #wake(): void {
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const wake of waiters) wake();
  }

  /** Ends the incarnation in order: runs it still holds are free for others at once. */
  async retire(): Promise<void> {
    if (this.#dead) return;
    this.#die();
    await retireIncarnation(this.#sql, this.id).catch((error: unknown) => {
      this.#log.warn({ err: error }, "the lease could not be given back; it runs out by itself");
    });
  }
}
