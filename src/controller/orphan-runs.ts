import type { Logger } from "../base/log.ts";
import { cancelRun, listUnfinishedRuns } from "../journal/runs.ts";
import { type Sql, toolsetChannel } from "../journal/sql.ts";
import type { ObjectStore } from "../objects/store.ts";

/**
 * Cancels unfinished runs whose object is gone, also when it was deleted while no controller ran (semantics 7.7). Compared by
 * uid, against a complete list from the store itself: a list that failed rejects here, and then counts for nothing.
 */
export async function cancelOrphanRuns(sql: Sql, store: ObjectStore, log: Logger): Promise<void> {
  // The journal is read first: a run that is admitted after that is not in this list, and so not taken for an orphan.
  const unfinished = await listUnfinishedRuns(sql);
  if (unfinished.length === 0) return;
  const present = new Set((await store.list("Run")).map((object) => object.metadata.uid));
  for (const { uid, name, namespace } of unfinished) {
    if (present.has(uid)) continue;
    const cancelled = await cancelRun(sql, uid, "the Run was deleted");
    if (!cancelled) continue;
    log.info({ name, namespace }, "a run whose object is gone was cancelled");
    sql.notify(toolsetChannel(cancelled.toolsetId));
  }
}
