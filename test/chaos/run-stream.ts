import { setTimeout as delay } from "node:timers/promises";
import { newId } from "../../src/base/ids.ts";
import { decideHold } from "../../src/journal/holds.ts";
import { sendSignal } from "../../src/journal/runs.ts";
import { toolsetChannel } from "../../src/journal/sql.ts";
import type { Rig } from "../dispatcher/rig.ts";
import { CHAOS_SCRIPT, type PlannedCall, plannedCalls, planRun, type RunPlan } from "./run-plan.ts";

export interface StreamedRun {
  readonly index: number;
  readonly runId: string;
  readonly plan: RunPlan;
}

/** A decision that the journal took. */
export interface TakenDecision {
  readonly runId: string;
  readonly holdId: string;
  readonly action: string;
}

const UNFINISHED_MAX = 10;
const LOOK_EVERY_MS = 15;
const TRY_AGAIN_MS = 200;

/**
 * Keeps a number of runs going, each with its own plan, and plays the people around them: sends the signals that they wait
 * for, and decides about their parked calls. Whatever it says to the journal it says again until the journal has answered.
 */
export class RunStream {
  readonly runs: StreamedRun[] = [];
  readonly decisions: TakenDecision[] = [];
  signals = 0;
  readonly #rig: Rig;
  readonly #seed: number;
  readonly #decided = new Set<string>();
  readonly #errands = new Set<Promise<void>>();
  #isAdmitting = true;
  #isClosed = false;
  #unfinished = 0;

  constructor(rig: Rig, seed: number) {
    this.#rig = rig;
    this.#seed = seed;
  }

  get unfinished(): number {
    return this.#unfinished;
  }

  start(): void {
    this.#run(() => this.#admitAll());
    this.#run(() => this.#decideAll());
  }

  #run(errand: () => Promise<void>): void {
    const running = errand().finally(() => this.#errands.delete(running));
    this.#errands.add(running);
  }

  /** Tries until the database has answered. */
  async #insist<Answer>(ask: () => Promise<Answer>): Promise<Answer | undefined> {
    while (!this.#isClosed) {
      try {
        return await ask();
      } catch {
        await delay(TRY_AGAIN_MS);
      }
    }
    return undefined;
  }

  async #admitAll(): Promise<void> {
    for (let looks = 0; !this.#isClosed; looks++) {
      // The seldom look: how many runs are left.
      if (looks % 10 === 0) {
        const count = await this.#insist(() => this.#countUnfinished());
        this.#unfinished = count ?? 0;
      }
      while (this.#isAdmitting && this.#unfinished < UNFINISHED_MAX) await this.#admit();
      await delay(LOOK_EVERY_MS * 2);
    }
  }

  async #countUnfinished(): Promise<number> {
    const { rows } = await this.#rig.sql.query<{ count: number }>(
      "select count(*)::int as count from holdpoint.runs where finished_at is null",
    );
    return rows[0]?.count ?? 0;
  }

  async #admit(): Promise<void> {
    const index = this.runs.length;
    const plan = planRun(this.#seed, index);
    const uid = newId();
    const admitted = await this.#insist(() => this.#rig.run(CHAOS_SCRIPT, plan, uid));
    if (!admitted) return;
    this.#unfinished += 1;
    this.runs.push({ index, runId: admitted.runId, plan });
    for (const step of plan.steps) {
      if (step.kind !== "signal") continue;
      this.signals += 1;
      this.#run(async () => {
        await delay(step.sendAfterMs);
        await this.#insist(() => sendSignal(this.#rig.sql, admitted.runId, step.name, JSON.stringify(step.payload)));
        this.#hint();
      });
    }
  }

  #hint(): void {
    this.#rig.sql.notify(toolsetChannel(this.#rig.toolsetId));
  }

  async #decideAll(): Promise<void> {
    while (!this.#isClosed) {
      const open = await this.#insist(() =>
        this.#rig.sql.query<{ run_id: string; hold_id: string; shown: string }>(
          "select run_id, hold_id, shown from holdpoint.holds where decided_at is null and closed_at is null",
        ),
      );
      for (const { run_id: runId, hold_id: holdId, shown } of open?.rows ?? []) {
        if (this.#decided.has(`${runId}/${holdId}`)) continue;
        const call = this.#plannedCall(runId, shown);
        if (!call) continue;
        this.#decided.add(`${runId}/${holdId}`);
        this.#run(() => this.#decide(runId, holdId, call));
      }
      await delay(LOOK_EVERY_MS);
    }
  }

  #plannedCall(runId: string, shown: string): PlannedCall | undefined {
    const { preview } = JSON.parse(shown) as { preview: string };
    const { value } = JSON.parse(preview) as { value: string };
    const run = this.runs.findLast((streamed) => streamed.runId === runId);
    return run && plannedCalls(run.plan).find((call) => call.value === value);
  }

  async #decide(runId: string, holdId: string, call: PlannedCall): Promise<void> {
    await delay(call.decideAfterMs ?? 0);
    const action = call.verdict ?? "Approve";
    const outcome = await this.#insist(() =>
      decideHold(this.#rig.sql, runId, { holdId, action, by: "chaos", reason: call.value }),
    );
    this.#hint();
    if (outcome?.kind === "taken" || outcome?.kind === "repeated") this.decisions.push({ runId, holdId, action });
  }

  /** No run is admitted any more; those that there are go on. */
  stopAdmitting(): void {
    this.#isAdmitting = false;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all(this.#errands);
  }
}
