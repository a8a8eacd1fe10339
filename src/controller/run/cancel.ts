import { cancelRun, viewRunOfObject } from "../../journal/runs.ts";
import { toolsetChannel } from "../../journal/sql.ts";
import type { RunContext } from "./run-context.ts";

/** Carries `spec.cancel` to the journal (semantics 7.7). */
export async function cancelStep(context: RunContext): Promise<void> {
  const { view, spec, tools, pass } = context;
  if (!spec.cancel || context.alreadyRan || !view || view.finishedAtMs !== undefined || view.cancelReason !== undefined)
    return;
  const { uid } = pass.object.metadata;
  const cancelled = await cancelRun(tools.sql, uid, "spec.cancel was set");
  if (!cancelled) return;
  tools.sql.notify(toolsetChannel(cancelled.toolsetId));
  context.view = await viewRunOfObject(tools.sql, uid);
}
