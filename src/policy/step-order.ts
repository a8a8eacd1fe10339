/** A call of a step that waits for its turn, as far as order is concerned. */
export interface StepCall {
  readonly seq: number;
  readonly step: number;
  readonly outward: boolean;
  /** `done` counts as run: settled, or parked (semantics 6.2). */
  readonly progress: "waiting" | "inFlight" | "parked" | "succeeded" | "failed";
}

export type StepVerdict = "go" | "wait" | "skip";

/**
 * Whether a waiting call may go now: `outward` calls of a step run after its other calls, one at a time, in order; if one
 * failed, the later outward ones of that step are skipped (semantics 6.2).
 * @param calls all calls of the run that belong to the same step, in order of seq
 */
export function stepVerdict(call: StepCall, calls: readonly StepCall[]): StepVerdict {
  if (!call.outward) return "go";
  for (const other of calls) {
    if (other.step !== call.step || other.seq === call.seq) continue;
    if (!other.outward) {
      if (other.progress === "waiting" || other.progress === "inFlight") return "wait";
      continue;
    }
    if (other.seq > call.seq) continue;
    if (other.progress === "failed") return "skip";
    if (other.progress !== "succeeded") return "wait";
  }
  return "go";
}
