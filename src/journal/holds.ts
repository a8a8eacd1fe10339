import type { Sql } from "./sql.ts";

/** A decision, as somebody wrote it into the Run. */
export interface Decision {
  readonly holdId: string;
  readonly action: string;
  readonly by: string;
  readonly reason: string;
  readonly callDigest?: string;
  readonly answersText?: string;
}

export type DecideOutcome =
  /** It was stored, and the run was woken. */
  | { readonly kind: "taken" }
  /** This very decision was stored before. */
  | { readonly kind: "repeated" }
  /** Somebody else decided first. */
  | { readonly kind: "decided"; readonly action: string; readonly by: string }
  /** The run has no such hold. */
  | { readonly kind: "notParked" }
  /** The hold is closed (timed out, cancelled, renewed). */
  | { readonly kind: "closed"; readonly outcome: string }
  /** The decision is about other arguments than those that are parked. */
  | { readonly kind: "otherCall"; readonly callDigest: string };

const DECIDE = `
with taken as (
  update holdpoint.holds set action = $3, decided_by = $4, decided_reason = $5, answers = $6, decided_at = now()
  where run_id = $1 and hold_id = $2 and decided_at is null and closed_at is null and ($7::text is null or call_digest = $7)
  returning toolset_id, run_id
), woken as (
  update holdpoint.runs r set wake = r.wake + 1, runnable_at = now() from taken
  where r.toolset_id = taken.toolset_id and r.run_id = taken.run_id and r.finished_at is null
)
select count(*)::int as taken from taken`;

/** Stores a decision and wakes its run, in one transaction. Of two at the same moment one is taken (semantics 7.9). */
export async function decideHold(sql: Sql, runId: string, decision: Decision): Promise<DecideOutcome> {
  const { rows } = await sql.query<{ taken: number }>(DECIDE, [
    runId,
    decision.holdId,
    decision.action,
    decision.by,
    JSON.stringify(decision.reason),
    decision.answersText ?? null,
    decision.callDigest ?? null,
  ]);
  if (rows[0]?.taken === 1) return { kind: "taken" };
  return await explain(sql, runId, decision);
}

async function explain(sql: Sql, runId: string, decision: Decision): Promise<DecideOutcome> {
  const { rows } = await sql.query<{
    action: string | null;
    decided_by: string | null;
    decided_reason: string | null;
    outcome: string | null;
    call_digest: string;
  }>(
    "select action, decided_by, decided_reason, outcome, call_digest from holdpoint.holds where run_id = $1 and hold_id = $2",
    [runId, decision.holdId],
  );
  const hold = rows[0];
  if (!hold) return { kind: "notParked" };
  if (hold.action !== null && hold.decided_by !== null) {
    const same =
      hold.action === decision.action &&
      hold.decided_by === decision.by &&
      hold.decided_reason === JSON.stringify(decision.reason);
    return same ? { kind: "repeated" } : { kind: "decided", action: hold.action, by: hold.decided_by };
  }
  if (hold.outcome !== null) return { kind: "closed", outcome: hold.outcome };
  return { kind: "otherCall", callDigest: hold.call_digest };
}

/** A hold with a decision that its run's owner has not carried out yet. */
export interface DecidedHold {
  readonly holdId: string;
  readonly seq: number;
  readonly action: string;
  readonly by: string;
  readonly reason: string;
  readonly answersText?: string;
}

/** The decisions that wait for the run's owner. */
export async function listDecidedHolds(sql: Sql, toolsetId: number, runId: string): Promise<DecidedHold[]> {
  const { rows } = await sql.query<{
    hold_id: string;
    seq: number;
    action: string;
    decided_by: string;
    decided_reason: string;
    answers: string | null;
  }>(
    `select hold_id, seq, action, decided_by, decided_reason, answers from holdpoint.holds
     where toolset_id = $1 and run_id = $2 and decided_at is not null and closed_at is null order by decided_at`,
    [toolsetId, runId],
  );
  return rows.map((row) => ({
    holdId: row.hold_id,
    seq: row.seq,
    action: row.action,
    by: row.decided_by,
    reason: JSON.parse(row.decided_reason) as string,
    ...(row.answers === null ? {} : { answersText: row.answers }),
  }));
}

/** A signal that the run has not read yet, oldest first. */
export interface UnreadSignal {
  readonly signalNo: number;
  readonly name: string;
  readonly payloadText: string;
}

/** Signals of a run with a number above `afterNo`, in the order in which they came, at most a page of 1,000. */
export async function listSignals(
  sql: Sql,
  toolsetId: number,
  runId: string,
  afterNo: number,
): Promise<UnreadSignal[]> {
  const { rows } = await sql.query<{ signal_no: number; name: string; payload: string }>(
    `select signal_no, name, payload from holdpoint.signals
     where toolset_id = $1 and run_id = $2 and signal_no > $3 order by signal_no limit 1000`,
    [toolsetId, runId, afterNo],
  );
  return rows.map((row) => ({ signalNo: row.signal_no, name: row.name, payloadText: row.payload }));
}
