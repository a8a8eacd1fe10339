import type { Clock } from "../base/clock.ts";
import type { Logger } from "../base/log.ts";
import { type IncarnationLease, listLeases, pruneIncarnations, takeOver } from "../journal/incarnations.ts";
import { type Sql, toolsetChannel } from "../journal/sql.ts";

/** Dead incarnations are kept this long, for whoever reads the journal after an accident. */
const KEPT_MS = 24 * 3_600_000;

/** A longer silence of the database than this share of a lease may have kept renewals away as well: the looks begin anew. */
const SILENCE_SHARE = 0.5;

/**
 * Takes over from dispatchers whose lease was not renewed for a whole ttl, by this process's own clock, the database having
 * answered in between (journal.md, Take over).
 */
export class LeaseWatch {
  readonly #sql: Sql;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #leaseMs: number;
  readonly #seen = new Map<string, { leaseUntilMs: number; sinceMs: number }>();
  #answeredMs = 0;

  constructor(sql: Sql, clock: Clock, log: Logger, leaseMs: number) {
    this.#sql = sql;
    this.#clock = clock;
    this.#log = log;
    this.#leaseMs = leaseMs;
  }

  async look(): Promise<void> {
    const leases = await this.#listLeases();
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#answeredMs > this.#leaseMs * SILENCE_SHARE) this.#seen.clear();
    this.#answeredMs = nowMs;
    const alive = new Set(leases.map(({ id }) => id));
    for (const id of this.#seen.keys()) if (!alive.has(id)) this.#seen.delete(id);
    for (const { id, toolsetId, leaseUntilMs } of leases) {
      const seen = this.#seen.get(id);
      if (seen?.leaseUntilMs !== leaseUntilMs) {
        this.#seen.set(id, { leaseUntilMs, sinceMs: nowMs });
        continue;
      }
      if (nowMs - seen.sinceMs < this.#leaseMs) continue;
      const freed = await takeOver(this.#sql, id, leaseUntilMs);
      if (freed === undefined) continue;
      this.#log.warn(
        { incarnation: id, toolsetId, runs: freed },
        "a dispatcher's lease ran out; its runs are free for others",
      );
      this.#sql.notify(toolsetChannel(toolsetId));
    }
    await pruneIncarnations(this.#sql, KEPT_MS);
  }

  /** While the database is away nobody can renew: what was seen before says nothing any more. */
  async #listLeases(): Promise<IncarnationLease[]> {
    try {
      return await listLeases(this.#sql);
    } catch (error) {
      this.#seen.clear();
      throw error;
    }
  }
}
