import { listDecidedHolds, listSignals } from "../journal/holds.ts";
import type { Sql } from "../journal/sql.ts";
import type { RunNews } from "./driver-host.ts";

/** What came to a run from outside and waits for its owner: decisions, and signals above a number. */
export async function readNews(sql: Sql, toolsetId: number, runId: string, afterSignalNo: number): Promise<RunNews> {
  const decided = await listDecidedHolds(sql, toolsetId, runId);
  const signals = await listSignals(sql, toolsetId, runId, afterSignalNo);
  return { decided, signals };
}
