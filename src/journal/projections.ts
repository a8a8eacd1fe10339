import type { Sql } from "./sql.ts";

/** Objects whose status is to be written anew, each once, with the queue entries that asked for it. */
export interface QueuedProjection {
  readonly toolsetId: number;
  /** Absent: the Toolset itself. */
  readonly runId?: string;
  readonly upToNo: number;
}

/** Reads the oldest entries of the queue. They stay until `dropProjections`: a controller that dies meanwhile loses nothing. */
export async function readProjections(sql: Sql, countMax: number): Promise<QueuedProjection[]> {
  const { rows } = await sql.query<{ toolset_id: number; run_id: string | null; up_to_no: number }>(
    `select toolset_id, run_id, max(projection_no) as up_to_no
     from (select * from holdpoint.projections order by projection_no limit $1) oldest group by toolset_id, run_id order by 3`,
    [countMax],
  );
  return rows.map((row) => ({
    toolsetId: row.toolset_id,
    upToNo: row.up_to_no,
    ...(row.run_id === null ? {} : { runId: row.run_id }),
  }));
}

/** Takes entries off the queue whose status was written; newer ones of the same object stay. */
export async function dropProjections(sql: Sql, written: readonly QueuedProjection[]): Promise<void> {
  await sql.query(
    `delete from holdpoint.projections p using unnest($1::bigint[], $2::uuid[], $3::bigint[]) as w (toolset_id, run_id, up_to_no)
     where p.toolset_id = w.toolset_id and p.run_id is not distinct from w.run_id and p.projection_no <= w.up_to_no`,
    [
      written.map((entry) => entry.toolsetId),
      written.map((entry) => entry.runId ?? null),
      written.map((entry) => entry.upToNo),
    ],
  );
}
