import type { Sql } from "./sql.ts";

/**
 * Whether nothing goes on in the run of that object unless somebody brings it something: no dispatcher holds it, it is not to
 * be claimed, and no timer runs. A run that is unknown or finished is not idle.
 */
export async function isRunIdle(sql: Sql, uid: string): Promise<boolean> {
  const { rows } = await sql.query(
    "select 1 from holdpoint.runs where uid = $1 and owner is null and runnable_at is null and finished_at is null",
    [uid],
  );
  return rows.length > 0;
}
