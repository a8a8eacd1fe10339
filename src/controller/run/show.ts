import { parkReasons } from "../../api/conditions.ts";
import type { RunContext } from "./run-context.ts";
import { acceptance, openHolds, runStatusOf, statedHolds } from "./run-status.ts";

/** Shows what the journal knows: phase, counts, parked calls, outcome. States `Accepted`, `Parked`, `Parked-*`, `Finished`. */
export async function showStep({ view, pass, toolset, alreadyRan }: RunContext): Promise<void> {
  if (!view) return;
  pass.status = runStatusOf(view);
  const { status, reason, message } = acceptance(view, alreadyRan);
  if (reason !== "") pass.condition("Accepted", status, reason, message);
  if (status === "False") pass.event("Warning", reason, message);
  for (const hold of statedHolds(view)) pass.condition(hold.type, hold.status, hold.reason, hold.message);
  const open = openHolds(view);
  if (open.length > 0) {
    const newer = toolset?.pinDigest !== undefined && toolset.pinDigest !== view.pinDigest;
    const note = newer ? ". The Toolset has a newer pin; this run keeps its own" : "";
    const [first] = open;
    const reasons = new Set(open.map((hold) => hold.reason));
    const calls = open.slice(0, 5).map((hold) => `${hold.holdId} (${hold.tool})`);
    const rest = open.length > 5 ? ` and ${open.length - 5} more` : "";
    const parkedReason = reasons.size === 1 && first && first.reason in parkReasons ? first.reason : "Several";
    pass.condition("Parked", "True", parkedReason, `call ${calls.join(", ")}${rest}${note}`);
  } else if (view.holds.length > 0) pass.condition("Parked", "False", "NoneParked", "no call is parked");
  if (view.finishedAtMs === undefined) return pass.condition("Finished", "False", "Unfinished", "the run goes on");
  pass.condition("Finished", "True", view.phase, pass.status.error?.message ?? "the script returned");
}
