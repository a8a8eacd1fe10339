import type { Run } from "../api/resources.ts";
import { FINAL_RUN_PHASES, type ParkedCall } from "../api/run-status.ts";

/** How a run can go on from here, as far as its object says. */
export type Outlook =
  | "finished"
  /** It goes on by itself: it works, a timer runs, or a decision is on its way. */
  | "going"
  /** Only a person can go on: calls wait for a decision. */
  | "undecided"
  /** Only a signal can go on. */
  | "signal";

type RunObject = Pick<Run, "spec" | "status">;

/** Where a run stands, by its object alone: spec, with the decisions that are on their way, and status. */
export function outlookOf(run: RunObject): Outlook {
  const { phase = "Pending", waitingFor, wakeAt, calls, parked = [] } = run.status ?? {};
  if ((FINAL_RUN_PHASES as readonly string[]).includes(phase)) return "finished";
  const undecided = undecidedCalls(run);
  // A decision that was written and not carried out yet, or a timer that ends by itself, goes on without anybody.
  if (undecided.length < parked.length || wakeAt !== undefined || (calls?.inFlight ?? 0) > 0) return "going";
  if (phase === "Parked" && undecided.length > 0) return "undecided";
  return phase === "Waiting" && waitingFor === "Signal" ? "signal" : "going";
}

/** The parked calls that nobody has decided yet. */
export function undecidedCalls({ spec, status }: RunObject): ParkedCall[] {
  return (status?.parked ?? []).filter(({ id }) => spec.decisions?.[id] === undefined);
}
