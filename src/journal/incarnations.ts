import { newId } from "../base/ids.ts";
import { journalVersion } from "./migrate.ts";
import type { Sql } from "./sql.ts";

/** One dispatcher process that renews its lease, as others see it. */
export interface IncarnationLease {
  readonly id: string;
  readonly toolsetId: number;
  /** Milliseconds since the epoch by the database's clock: only compared with itself. */
  readonly leaseUntilMs: number;
}

/**
 * Registers a process under a new id, which is its fencing token. Predecessors in the same place are known to be dead, so
 * their runs are set free at once.
 * @param place names the pod or the state folder: two live processes never share one
 */
export async function registerIncarnation(
  sql: Sql,
  spec: { toolsetId: number; place: string; leaseMs: number },
): Promise<string> {
  const { rows } = await sql.query<{ id: string }>(
    "select id from holdpoint.incarnations where toolset_id = $1 and place = $2 and not dead",
    [spec.toolsetId, spec.place],
  );
  for (const { id } of rows) await takeOver(sql, id);
  const id = newId();
  await sql.query(
    `insert into holdpoint.incarnations (id, toolset_id, place, lease_until, journal_version)
     values ($1, $2, $3, now() + $4 * interval '1 millisecond', $5)`,
    [id, spec.toolsetId, spec.place, spec.leaseMs, journalVersion],
  );
  return id;
}

/**
 * Renews the lease. A renewal updates no key, so it never waits for the locks of writes under way.
 * @returns the database's clock, in milliseconds; undefined when the incarnation was marked dead: it owns nothing any more
 */
export async function renewLease(sql: Sql, id: string, leaseMs: number): Promise<number | undefined> {
  const { rows } = await sql.query<{ now_ms: number }>(
    `update holdpoint.incarnations set lease_until = now() + $2 * interval '1 millisecond' where id = $1 and not dead
     returning (extract(epoch from clock_timestamp()) * 1000)::bigint as now_ms`,
    [id, leaseMs],
  );
  return rows[0]?.now_ms;
}

/** All incarnations that are not dead, of one toolset or of all. */
export async function listLeases(sql: Sql, toolsetId?: number): Promise<IncarnationLease[]> {
  const { rows } = await sql.query<{ id: string; toolset_id: number; lease_until_ms: number }>(
    `select id, toolset_id, (extract(epoch from lease_until) * 1000)::bigint as lease_until_ms
     from holdpoint.incarnations where not dead and ($1::bigint is null or toolset_id = $1)`,
    [toolsetId ?? null],
  );
  return rows.map((row) => ({ id: row.id, toolsetId: row.toolset_id, leaseUntilMs: row.lease_until_ms }));
}

/**
 * Marks an incarnation dead and sets its runs free, in one transaction. Locking its row waits for, and excludes, every
 * statement of the old owner. Only for one that is known to be dead, or whose lease was seen unrenewed for a whole ttl.
 * @param expectedLeaseUntilMs the lease as it was seen: one that was renewed since is left alone
 * @returns how many runs were set free; undefined when somebody else did it, or the lease was renewed
 */
export async function takeOver(sql: Sql, id: string, expectedLeaseUntilMs?: number): Promise<number | undefined> {
  return await sql.transaction(async (transaction) => {
    const locked = await transaction.query<{ lease_until_ms: number; toolset_id: number }>(
      `select (extract(epoch from lease_until) * 1000)::bigint as lease_until_ms, toolset_id
       from holdpoint.incarnations where id = $1 and not dead for update`,
      [id],
    );
    const lease = locked.rows[0];
    if (!lease || (expectedLeaseUntilMs !== undefined && lease.lease_until_ms !== expectedLeaseUntilMs))
      return undefined;
    await transaction.query("update holdpoint.incarnations set dead = true where id = $1", [id]);
    const freed = await transaction.query(
      "update holdpoint.runs set owner = null, runnable_at = now(), wake = wake + 1, losses = losses + 1 where owner = $1",
      [id],
    );
    return freed.rowCount;
  });
}

/** Ends an incarnation that holds no run: an orderly stop. Runs it still holds are set free without counting as a loss. */
export async function retireIncarnation(sql: Sql, id: string): Promise<void> {
  await sql.transaction(async (transaction) => {
    await transaction.query("select 1 from holdpoint.incarnations where id = $1 for update", [id]);
    await transaction.query("update holdpoint.incarnations set dead = true where id = $1", [id]);
    await transaction.query(
      "update holdpoint.runs set owner = null, runnable_at = now(), wake = wake + 1 where owner = $1",
      [id],
    );
  });
}

/** Forgets incarnations that died longer ago than `olderThanMs` and own nothing. */
export async function pruneIncarnations(sql: Sql, olderThanMs: number): Promise<number> {
  const { rowCount } = await sql.query(
    `delete from holdpoint.incarnations i where dead and lease_until < now() - $1 * interval '1 millisecond'
     and not exists (select 1 from holdpoint.runs r where r.owner = i.id)`,
    [olderThanMs],
  );
  return rowCount;
}
