import type { ToolsetSpec } from "../api/toolset-spec.ts";
import type { Clock } from "../base/clock.ts";
import { parseDurationMs } from "../base/duration.ts";
import { type Demand, readDemand } from "../journal/demand.ts";
import type { Sql } from "../journal/sql.ts";
import { readToolsets } from "../journal/toolsets.ts";
import type { Launcher, LaunchTarget } from "./launcher.ts";

/** How a Toolset's dispatchers are scaled, compiled from its spec. */
export interface ScalingSettings {
  readonly replicasMax: number;
  readonly runsPerReplica: number;
  readonly idleAfterMs: number;
}

const DEFAULTS: ScalingSettings = { replicasMax: 5, runsPerReplica: 200, idleAfterMs: 60_000 };

/** The settings of a Toolset's spec, its defaults filled in. */
export function scalingSettings(spec: ToolsetSpec | undefined): ScalingSettings {
  const { maxReplicas, runsPerReplica, idleAfter } = spec?.dispatcher ?? {};
  return {
    replicasMax: maxReplicas ?? DEFAULTS.replicasMax,
    runsPerReplica: runsPerReplica ?? DEFAULTS.runsPerReplica,
    idleAfterMs: idleAfter === undefined ? DEFAULTS.idleAfterMs : parseDurationMs(idleAfter),
  };
}

/**
 * How many dispatchers a Toolset needs now. Pure. Without work none, once it has been idle for `idleAfter` and nothing is due
 * within it; one that runs is taken away only when no run is held.
 * @param idleForMs since when there was no work, or 0
 */
export function replicasWanted(
  demand: Demand | undefined,
  running: number,
  idleForMs: number,
  settings: ScalingSettings,
): number {
  const isDue = demand?.nextInMs !== undefined && demand.nextInMs <= settings.idleAfterMs;
  const runs = (demand?.claimable ?? 0) + (demand?.held ?? 0);
  if (runs === 0 && !demand?.pinWished && !isDue) return idleForMs >= settings.idleAfterMs ? 0 : running;
  const needed = Math.min(settings.replicasMax, Math.max(1, Math.ceil(runs / settings.runsPerReplica)));
  // Runs that are held keep their dispatchers: which of them could go cannot be told from here.
  return (demand?.held ?? 0) > 0 ? Math.max(needed, Math.min(running, settings.replicasMax)) : needed;
}

/** Scales the dispatchers of all Toolsets by what the journal holds (journal.md, Demand). */
export class Scaling {
  readonly #sql: Sql;
  readonly #launcher: Launcher;
  readonly #clock: Clock;
  readonly #onScaled: (target: LaunchTarget) => void;
  /** Toolsets with dispatchers, and since when they are idle by the monotonic clock. */
  readonly #known = new Map<number, { target: LaunchTarget; idleSinceMs: number | undefined }>();

  constructor(sql: Sql, launcher: Launcher, clock: Clock, onScaled: (target: LaunchTarget) => void) {
    this.#sql = sql;
    this.#launcher = launcher;
    this.#clock = clock;
    this.#onScaled = onScaled;
  }

  async look(): Promise<void> {
    const demands = new Map((await readDemand(this.#sql)).map((demand) => [demand.toolsetId, demand]));
    for (const { toolsetId, namespace, name } of demands.values()) {
      if (!this.#known.has(toolsetId))
        this.#known.set(toolsetId, { target: { toolsetId, namespace, name }, idleSinceMs: undefined });
    }
    const states = new Map(
      (await readToolsets(this.#sql, [...this.#known.keys()])).map((state) => [state.toolsetId, state]),
    );
    for (const [toolsetId, known] of this.#known) {
      const demand = demands.get(toolsetId);
      const state = states.get(toolsetId);
      const settings = scalingSettings(state && (JSON.parse(state.specText) as ToolsetSpec));
      await this.#scale(known, demand, settings);
      if (this.#launcher.running(toolsetId) === 0 && !demand) this.#known.delete(toolsetId);
    }
  }

  async #scale(
    known: { target: LaunchTarget; idleSinceMs: number | undefined },
    demand: Demand | undefined,
    settings: ScalingSettings,
  ): Promise<void> {
    const nowMs = this.#clock.monotonicMs();
    const isBusy = demand !== undefined && (demand.claimable > 0 || demand.held > 0 || demand.pinWished);
    known.idleSinceMs = isBusy ? undefined : (known.idleSinceMs ?? nowMs);
    const running = this.#launcher.running(known.target.toolsetId);
    const idleForMs = known.idleSinceMs === undefined ? 0 : nowMs - known.idleSinceMs;
    const wanted = replicasWanted(demand, running, idleForMs, settings);
    if (wanted === running) return;
    await this.#launcher.scale(known.target, wanted);
    this.#onScaled(known.target);
  }
}
