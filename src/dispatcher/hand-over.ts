import { finishRun, type ReleaseOutcome, type RunEnd, type RunProgress, releaseRun } from "../journal/claims.ts";
import { classifyFailure, type Sql } from "../journal/sql.ts";
import type { Lease } from "./lease.ts";

const PAUSE_MS = 200;

/** A run that this process holds, as far as giving it back is concerned. */
export interface HandedOver {
  /** Set when the run was claimed again by this very process: it was given back, whatever became of the answer. */
  readonly isSuperseded: boolean;
}

export interface HandOverSpec {
  readonly sql: Sql;
  readonly incarnationId: string;
  readonly lease: Lease;
  /** Resolves when no claim that was begun before is under way any more. */
  readonly claimsEnded: () => Promise<void>;
}

/** Ends runs and gives them back, for certain: what became of an answer that was lost is found out. */
export class HandOver {
  /** Runs whose release is not answered yet: claimed meanwhile, a release that is tried again would hit the new ownership. */
  readonly underWay = new Set<string>();
  readonly #spec: HandOverSpec;

  constructor(spec: HandOverSpec) {
    this.#spec = spec;
  }

  /** Records how a run ended. @throws what the database refuses */
  async finish(end: RunEnd): Promise<void> {
    await this.insist(() => finishRun(this.#spec.sql, this.#spec.incarnationId, end));
  }

  /** As `releaseRun`; nothing that was seen after `wakeSeen` counts, however often it is tried. */
  async release(
    held: HandedOver,
    progress: RunProgress,
    wakeSeen: number,
    runnableAtMs: number | undefined,
  ): Promise<ReleaseOutcome> {
    const { sql, incarnationId, claimsEnded } = this.#spec;
    this.underWay.add(progress.runId);
    let isRepeated = false;
    try {
      const outcome = await this.insist(async () => {
        // A claim under way may have taken the run already.
        if (isRepeated) await claimsEnded();
        isRepeated = true;
        if (held.isSuperseded) return "released";
        return await releaseRun(sql, incarnationId, progress, wakeSeen, runnableAtMs);
      });
      return held.isSuperseded ? "released" : outcome;
    } finally {
      this.underWay.delete(progress.runId);
    }
  }

  /** Tries until the database answers, or until this incarnation is dead: a run's end must not be lost to a moment's trouble. */
  async insist<Result>(write: () => Promise<Result>): Promise<Result> {
    for (;;) {
      try {
        return await write();
      } catch (error) {
        if (classifyFailure(error) !== "unavailable" || this.#spec.lease.dead) throw error;
        await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
      }
    }
  }
}
