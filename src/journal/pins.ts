import type { Sql } from "./sql.ts";

/** A pin as stored: immutable, known by its digest. Texts are exact JSON. */
export interface StoredPin {
  readonly digest: string;
  readonly contentText: string;
  /** What stands beside the content: contracts, refused tools, warnings. */
  readonly notesText: string;
}

/** How an attempt to pin ended. */
export interface PinAttempt {
  readonly toolsetId: number;
  /** The wish that was carried out: later wishes stay open. */
  readonly pinWanted: number;
  /** JSON text of what was noticed: servers, refused tools, the fault. */
  readonly reportText: string;
  /** Present when a pin was made. */
  readonly pin?: StoredPin;
}

/** Stores how pinning ended, the pin with it, and queues the Toolset's status, in one statement. */
export async function recordPinAttempt(sql: Sql, incarnationId: string, attempt: PinAttempt): Promise<boolean> {
  const { rows } = await sql.query<{ recorded: number }>(
    `with fence as materialized (select id, toolset_id from holdpoint.incarnations where id = $1 and not dead for key share),
     stored as (
       insert into holdpoint.pins (toolset_id, digest, content, notes)
       select toolset_id, $4, $5, $6 from fence where $4::text is not null on conflict do nothing
     ), recorded as (
       update holdpoint.toolsets t set pin_done = greatest(t.pin_done, $3), report = $7, pin_tried_at = now(),
         pin_digest = coalesce($4, t.pin_digest),
         pinned_at = case when $4::text is null or $4 = t.pin_digest then t.pinned_at else now() end
       from fence f where t.toolset_id = f.toolset_id and t.toolset_id = $2 and t.pin_done < $3 returning t.toolset_id
     ), projected as (insert into holdpoint.projections (toolset_id) select toolset_id from recorded)
     select count(*)::int as recorded from recorded`,
    [
      incarnationId,
      attempt.toolsetId,
      attempt.pinWanted,
      attempt.pin?.digest ?? null,
      attempt.pin?.contentText ?? null,
      attempt.pin?.notesText ?? null,
      attempt.reportText,
    ],
  );
  return rows[0]?.recorded === 1;
}

/** Reads a pin. It never changes, so callers may keep it. */
export async function readPin(sql: Sql, toolsetId: number, digest: string): Promise<StoredPin | undefined> {
  const { rows } = await sql.query<{ digest: string; content: string; notes: string }>(
    "select digest, content, notes from holdpoint.pins where toolset_id = $1 and digest = $2",
    [toolsetId, digest],
  );
  const row = rows[0];
  return row && { digest: row.digest, contentText: row.content, notesText: row.notes };
}
