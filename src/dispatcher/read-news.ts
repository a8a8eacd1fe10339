import { listDecidedHolds, listSignals, type UnreadSignal } from "../journal/holds.ts";
import type { Sql } from "../journal/sql.ts";
import type { RunNews } from "./driver-host.ts";

/** What came to a run from outside and waits for its owner: decisions, and signals above a number. */
export async function readNews(sql: Sql, toolsetId: number, runId: string, afterSignalNo: number): Promise<RunNews> {
  const decided = await listDecidedHolds(sql, toolsetId, runId);
  const signals: UnreadSignal[] = [];
  for (let page = await listSignals(sql, toolsetId, runId, afterSignalNo); page.length > 0; ) {
    signals.push(...page);
    page = await listSignals(sql, toolsetId, runId, page.at(-1)?.signalNo ?? 0);
  }
  return { decided, signals };
}
