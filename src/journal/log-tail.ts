import { decodeRecord, type LogEntry, type LogRow } from "./log-records.ts";
import type { Sql } from "./sql.ts";

const PAGE_ROWS = 500;

/** The entries of a run's log after the n-th, oldest first, at most a page of them: for those who watch a run. */
export async function readLogAfter(sql: Sql, toolsetId: number, runId: string, n: number): Promise<LogEntry[]> {
  const { rows } = await sql.query<LogRow & { n: number; at_ms: number }>(
    `select n, kind, ref, seq, at_ms, meta, payload from holdpoint.log
     where toolset_id = $1 and run_id = $2 and n > $3 order by n limit $4`,
    [toolsetId, runId, n, PAGE_ROWS],
  );
  return rows.map((row) => decodeRecord({ ...row, atMs: row.at_ms }));
}

/** The exact arguments of a call, whole; undefined when it is not recorded. */
export async function readArguments(
  sql: Sql,
  toolsetId: number,
  runId: string,
  seq: number,
): Promise<string | undefined> {
  const { rows } = await sql.query<{ payload: string }>(
    "select payload from holdpoint.log where toolset_id = $1 and run_id = $2 and seq = $3 and kind = 0",
    [toolsetId, runId, seq],
  );
  return rows[0]?.payload;
}
