import type { LogRecord, LogRow } from "./log-records.ts";
import { decodeRecord, encodeRecord, type LogEntry } from "./log-records.ts";
import type { Sql } from "./sql.ts";

/** A record on its way into the log of one run. */
export interface PendingRecord {
  readonly runId: string;
  readonly n: number;
  readonly atMs: number;
  readonly record: LogRecord;
  /** What parking puts before people, opened together with a `parked` record. */
  readonly hold?: NewHold;
  /** How a hold ended, written together with the record that ends it. */
  readonly closedHold?: ClosedHold;
  /** Whether the controller must write the run's status anew. */
  readonly project?: boolean;
}

export interface NewHold {
  readonly holdId: string;
  readonly seq: number;
  readonly tool: string;
  readonly reason: string;
  readonly actions: readonly string[];
  readonly callDigest: string;
  /** JSON text of what is shown: message, preview, size, approvers. */
  readonly shownText: string;
}

export interface ClosedHold {
  readonly holdId: string;
  /** The reason of the closed condition: Approved, Rejected, Answered, Renewed, TimedOut, Withdrawn, Cancelled. */
  readonly outcome: string;
  readonly note: string;
}

const APPEND = `
with fence as materialized (
  select id, toolset_id from holdpoint.incarnations where id = $1 and not dead for key share
), owned as materialized (
  select r.toolset_id, r.run_id from fence f
  join holdpoint.runs r on r.toolset_id = f.toolset_id and r.owner = f.id and r.run_id = any($2::uuid[])
), written as (
  insert into holdpoint.log (toolset_id, run_id, n, kind, ref, seq, at_ms, meta, payload)
  select o.toolset_id, o.run_id, u.n, u.kind, u.ref, u.seq, u.at_ms, u.meta, u.payload
  from unnest($2::uuid[], $3::int[], $4::smallint[], $5::int[], $6::int[], $7::bigint[], $8::text[], $9::text[])
    as u (run_id, n, kind, ref, seq, at_ms, meta, payload)
  join owned o on o.run_id = u.run_id
  on conflict (toolset_id, run_id, n) do nothing
)`;

const HOLDS = `, opened as (
  insert into holdpoint.holds (toolset_id, run_id, hold_id, seq, tool, reason, actions, call_digest, shown)
  select o.toolset_id, o.run_id, h.hold_id, h.seq, h.tool, h.reason, array(select json_array_elements_text(h.actions::json)), h.call_digest, h.shown
  from unnest($10::uuid[], $11::text[], $12::int[], $13::text[], $14::text[], $15::text[], $16::text[], $17::text[])
    as h (run_id, hold_id, seq, tool, reason, actions, call_digest, shown)
  join owned o on o.run_id = h.run_id
  on conflict (toolset_id, run_id, hold_id) do nothing
), closed as (
  update holdpoint.holds t set outcome = c.outcome, outcome_note = c.note, closed_at = now()
  from unnest($18::uuid[], $19::text[], $20::text[], $21::text[]) as c (run_id, hold_id, outcome, note)
  join owned o on o.run_id = c.run_id
  where t.toolset_id = o.toolset_id and t.run_id = o.run_id and t.hold_id = c.hold_id and t.closed_at is null
), projected as (
  insert into holdpoint.projections (toolset_id, run_id)
  select o.toolset_id, o.run_id from unnest($22::uuid[]) as p (run_id) join owned o on o.run_id = p.run_id
)`;

const OWNED = " select run_id from owned";

/**
 * Appends records of any runs of one incarnation in one statement. Written again it changes nothing (a row is known by its
 * run and n, and n is given by the run's one owner), so a batch whose commit is in doubt is simply sent once more.
 * @returns the runs that are still this incarnation's; nothing was written for the others
 */
export async function appendRecords(
  sql: Sql,
  incarnationId: string,
  records: readonly PendingRecord[],
): Promise<Set<string>> {
  const rows = records.map((pending) => encodeRecord(pending.record));
  const values: unknown[] = [
    incarnationId,
    records.map((pending) => pending.runId),
    records.map((pending) => pending.n),
    rows.map((row) => row.kind),
    rows.map((row) => row.ref),
    rows.map((row) => row.seq),
    records.map((pending) => pending.atMs),
    rows.map((row) => row.meta),
    rows.map((row) => row.payload),
  ];
  // Most batches touch no hold and no status: the short statement saves planning.
  const plain = records.every((pending) => !pending.hold && !pending.closedHold && !pending.project);
  if (!plain) values.push(...holdValues(records));
  const { rows: owned } = await sql.query<{ run_id: string }>(`${APPEND}${plain ? "" : HOLDS}${OWNED}`, values);
  return new Set(owned.map((row) => row.run_id));
}

function holdValues(records: readonly PendingRecord[]): unknown[] {
  const opened = records.flatMap(({ runId, hold }) => (hold ? [{ runId, ...hold }] : []));
  const closed = records.flatMap(({ runId, closedHold }) => (closedHold ? [{ runId, ...closedHold }] : []));
  const projected = [...new Set(records.filter((pending) => pending.project).map((pending) => pending.runId))];
  return [
    opened.map((hold) => hold.runId),
    opened.map((hold) => hold.holdId),
    opened.map((hold) => hold.seq),
    opened.map((hold) => hold.tool),
    opened.map((hold) => hold.reason),
    opened.map((hold) => JSON.stringify(hold.actions)),
    opened.map((hold) => hold.callDigest),
    opened.map((hold) => hold.shownText),
    closed.map((hold) => hold.runId),
    closed.map((hold) => hold.holdId),
    closed.map((hold) => hold.outcome),
    // Foreign text: as JSON text, so that U+0000 survives.
    closed.map((hold) => JSON.stringify(hold.note)),
    projected,
  ];
}

const READ_PAGE_ROWS = 2_000;

/** Reads a run's whole log in order, a page at a time. */
export async function* readLog(sql: Sql, toolsetId: number, runId: string): AsyncGenerator<LogEntry> {
  let after = 0;
  for (;;) {
    const { rows } = await sql.query<LogRow & { n: number; at_ms: number }>(
      `select n, kind, ref, seq, at_ms, meta, payload from holdpoint.log
       where toolset_id = $1 and run_id = $2 and n > $3 order by n limit $4`,
      [toolsetId, runId, after, READ_PAGE_ROWS],
    );
    for (const row of rows) {
      yield decodeRecord({ ...row, atMs: row.at_ms });
      after = row.n;
    }
    if (rows.length < READ_PAGE_ROWS) return;
  }
}
