import { parseDurationMs } from "../../base/duration.ts";
import type { RunContext } from "./run-context.ts";

/**
 * Deletes the object of a run that ended longer ago than `ttlAfterFinished`: the object only, never rows, and never one that
 * shows an earlier run's outcome (semantics 14.5).
 */
export async function expireStep(context: RunContext): Promise<void> {
  const { view, spec, pass, tools, alreadyRan } = context;
  if (!view || alreadyRan || view.finishedAtMs === undefined || spec.ttlAfterFinished === undefined) return;
  const leftMs = view.finishedAtMs + parseDurationMs(spec.ttlAfterFinished) - tools.clock.nowMs();
  // What ended must have been readable: the status is written first, and the object goes in a later pass.
  const isShown = (pass.object.status as { phase?: string } | undefined)?.phase === view.phase;
  if (leftMs > 0 || !isShown) return pass.comeAgain(Math.max(leftMs, 100));
  const { namespace, name, uid } = pass.object.metadata;
  await tools.store.delete("Run", { namespace, name }, uid);
  tools.log.info(
    { run: view.runId, name, namespace },
    "the Run's time to live is over; its object is deleted, its rows stay",
  );
  context.expired = true;
}
