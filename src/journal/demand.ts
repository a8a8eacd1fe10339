import type { Sql } from "./sql.ts";

/** What a Toolset asks of dispatchers now. */
export interface Demand {
  readonly toolsetId: number;
  readonly namespace: string;
  readonly name: string;
  /** Runs that may be claimed now. */
  readonly claimable: number;
  /** Runs that an incarnation holds. */
  readonly held: number;
  /** Milliseconds until the earliest timer of a run that nobody holds. */
  readonly nextInMs?: number;
  readonly pinWished: boolean;
}

/** One statement for all toolsets that ask for something; a toolset without any work has no row. */
export async function readDemand(sql: Sql): Promise<Demand[]> {
  const { rows } = await sql.query<Record<string, unknown>>(
    `with waiting as (
       select toolset_id, count(*) filter (where runnable_at <= now())::int as claimable, min(runnable_at) as next_at
       from holdpoint.runs where owner is null and runnable_at is not null group by toolset_id
     ), held as (
       select toolset_id, count(*)::int as held from holdpoint.runs where owner is not null group by toolset_id
     )
     select t.toolset_id as "toolsetId", t.namespace, t.name, coalesce(case when t.suspended then 0 else w.claimable end, 0) as claimable, coalesce(h.held, 0) as held,
       case when t.suspended then null else (extract(epoch from (w.next_at - now())) * 1000)::bigint end as "nextInMs", t.pin_wanted > t.pin_done and t.deleted_at is null as "pinWished"
     from holdpoint.toolsets t left join waiting w using (toolset_id) left join held h using (toolset_id)
     where w.toolset_id is not null or h.toolset_id is not null or (t.pin_wanted > t.pin_done and t.deleted_at is null)`,
  );
  return rows.map(
    (row) => Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null)) as unknown as Demand,
  );
}
