import type { RunStatus } from "../api/run-status.ts";
import type { Logger } from "../base/log.ts";
import { cancelRun, listUnfinishedRuns } from "../journal/runs.ts";
import { type Sql, toolsetChannel } from "../journal/sql.ts";
import type { ObjectKey, ObjectStore } from "../objects/store.ts";

/**
 * Cancels unfinished runs whose object is gone, also when it was deleted while no controller ran (semantics 7.7). Compared by
 * uid, against a complete list from the store itself: a list that failed rejects here, and then counts for nothing.
 * @param adoptsUnfinished a run is no orphan while an object of its name has not been admitted: that may go on with it
 */
export async function cancelOrphanRuns(
  sql: Sql,
  store: ObjectStore,
  log: Logger,
  adoptsUnfinished: boolean,
): Promise<void> {
  // The journal is read first: a run that is admitted after that is not in this list, and so not taken for an orphan.
  const unfinished = await listUnfinishedRuns(sql);
  if (unfinished.length === 0) return;
  const objects = await store.list("Run");
  const present = new Set(objects.map((object) => object.metadata.uid));
  const known = new Set(unfinished.map(({ uid }) => uid));
  const adopters = new Set(
    objects
      .filter(({ metadata, status }) => adoptsUnfinished && !known.has(metadata.uid) && !hasBegun(status))
      .map(nameOf),
  );
  for (const { uid, name, namespace } of unfinished) {
    if (present.has(uid) || adopters.has(nameOf({ metadata: { namespace, name } }))) continue;
    const cancelled = await cancelRun(sql, uid, "the Run was deleted");
    if (!cancelled) continue;
    log.info({ name, namespace }, "a run whose object is gone was cancelled");
    sql.notify(toolsetChannel(cancelled.toolsetId));
  }
}

function hasBegun(status: unknown): boolean {
  const { phase } = (status ?? {}) as RunStatus;
  return phase !== undefined && phase !== "Pending";
}

function nameOf({ metadata }: { metadata: ObjectKey }): string {
  return `${metadata.namespace}/${metadata.name}`;
}
