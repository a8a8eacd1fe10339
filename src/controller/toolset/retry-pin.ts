import { backoffDelayMs } from "../../base/backoff.ts";
import { toolsetChannel } from "../../journal/sql.ts";
import { wishPinAgain } from "../../journal/toolsets.ts";
import { reportOf } from "./readiness.ts";
import type { ToolsetContext } from "./toolset-context.ts";

const PAUSES = { firstMs: 2_000, maxMs: 5 * 60_000, factor: 2 };
/** Faults that only a change of the spec, or of the server's tools, can mend: they are looked at again slowly. */
const STANDING_FAULTS = new Set(["ReservedName", "NameClash", "OutwardNotIdempotent"]);

/** When a failed pin is tried again, by Toolset: in memory, so that a restarted controller tries at once. */
export class PinRetries {
  readonly #tries = new Map<number, { wanted: number; tries: number; dueMs: number }>();

  /** Wishes for a pin again after one that failed, with growing pauses. */
  readonly step = async ({ state, tools, pass }: ToolsetContext): Promise<void> => {
    if (!state) return;
    const fault = reportOf(state)?.fault;
    if (!fault || state.pinDone < state.pinWanted) {
      if (!fault) this.#tries.delete(state.toolsetId);
      return;
    }
    const nowMs = tools.clock.monotonicMs();
    const known = this.#tries.get(state.toolsetId);
    if (known?.wanted !== state.pinWanted) {
      const tries = (known?.tries ?? 0) + 1;
      const pauseMs = STANDING_FAULTS.has(fault.code) ? PAUSES.maxMs : backoffDelayMs(PAUSES, tries, Math.random());
      this.#tries.set(state.toolsetId, { wanted: state.pinWanted, tries, dueMs: nowMs + pauseMs });
      return pass.comeAgain(pauseMs);
    }
    if (nowMs < known.dueMs) return pass.comeAgain(known.dueMs - nowMs);
    await wishPinAgain(tools.sql, state.toolsetId);
    tools.sql.notify(toolsetChannel(state.toolsetId));
  };
}
