import { newId } from "../base/ids.ts";
import type { Sql } from "./sql.ts";

/** A Run as it is admitted: what it is, and what it runs. */
export interface RunAdmission {
  readonly toolsetId: number;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** Whether the name was generated: only a name that somebody chose can be applied a second time. */
  readonly generatedName: boolean;
  /** Digest over what makes a run the same: namespace, name and spec without decisions, cancel, ttlAfterFinished. */
  readonly specDigest: string;
  readonly pinDigest: string;
  readonly requester: string;
  readonly script: string;
  readonly inputText?: string;
}

export type AdmissionOutcome =
  /** A new run. */
  | { readonly kind: "admitted"; readonly runId: string; readonly toolsetId: number }
  /** This very object was admitted before. */
  | { readonly kind: "known"; readonly runId: string; readonly toolsetId: number }
  /** An object of that namespace, name and spec ran before: it is not run again (semantics 14.5). */
  | {
      readonly kind: "alreadyRan";
      readonly runId: string;
      readonly toolsetId: number;
      readonly phase: string;
      readonly finished: boolean;
    };

interface KnownRun {
  run_id: string;
  toolset_id: number;
  uid: string;
  phase: string;
  finished: boolean;
}

/** Admits a Run, once, however often it is asked: the object's uid is unique in the journal. */
export async function admitRun(sql: Sql, admission: RunAdmission): Promise<AdmissionOutcome> {
  const known = await findKnown(sql, admission);
  if (known) return known;
  const runId = newId();
  const { rowCount } = await sql.query(
    `insert into holdpoint.runs
       (toolset_id, run_id, namespace, name, uid, generated_name, spec_digest, pin_digest, requester, script, input, seed, runnable_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, now())
     on conflict (uid) do nothing`,
    [
      admission.toolsetId,
      runId,
      admission.namespace,
      admission.name,
      admission.uid,
      admission.generatedName,
      admission.specDigest,
      admission.pinDigest,
      admission.requester,
      // Foreign text: as JSON text, so that U+0000 and lone surrogates survive.
      JSON.stringify(admission.script),
      admission.inputText ?? null,
      runId,
    ],
  );
  if (rowCount > 0) return { kind: "admitted", runId, toolsetId: admission.toolsetId };
  const raced = await findKnown(sql, admission);
  if (!raced) throw new Error(`run ${admission.namespace}/${admission.name} was neither admitted nor known`);
  return raced;
}

async function findKnown(sql: Sql, admission: RunAdmission): Promise<AdmissionOutcome | undefined> {
  const { rows } = await sql.query<KnownRun>(
    `select run_id, toolset_id, uid, phase, finished_at is not null as finished from holdpoint.runs
     where uid = $1 or ($4 and namespace = $2 and name = $3 and spec_digest = $5 and finished_at is not null)
     order by (uid = $1) desc, finished_at desc limit 1`,
    [admission.uid, admission.namespace, admission.name, !admission.generatedName, admission.specDigest],
  );
  const run = rows[0];
  if (!run) return undefined;
  const common = { runId: run.run_id, toolsetId: run.toolset_id };
  if (run.uid === admission.uid) return { kind: "known", ...common };
  return { kind: "alreadyRan", ...common, phase: run.phase, finished: run.finished };
}

/**
 * Lets an unfinished run go on as a new object: locally, the state folder was lost and the manifest applied again.
 * @returns the run that is now the object's, if there was one of that namespace, name and spec
 */
export async function adoptRun(sql: Sql, admission: RunAdmission): Promise<string | undefined> {
  const { rows } = await sql.query<{ run_id: string }>(
    `update holdpoint.runs set uid = $1 where (toolset_id, run_id) = (
       select toolset_id, run_id from holdpoint.runs
       where namespace = $2 and name = $3 and spec_digest = $4 and finished_at is null limit 1)
     returning run_id`,
    [admission.uid, admission.namespace, admission.name, admission.specDigest],
  );
  return rows[0]?.run_id;
}

/** An unfinished run, as the controller compares it with the objects (semantics 7.7). */
export interface UnfinishedRun {
  readonly toolsetId: number;
  readonly runId: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

/** Every run that has not ended, of all toolsets or one. */
export async function listUnfinishedRuns(sql: Sql, toolsetId?: number): Promise<UnfinishedRun[]> {
  const { rows } = await sql.query<{
    toolset_id: number;
    run_id: string;
    namespace: string;
    name: string;
    uid: string;
  }>(
    `select toolset_id, run_id, namespace, name, uid from holdpoint.runs
     where finished_at is null and ($1::bigint is null or toolset_id = $1)`,
    [toolsetId ?? null],
  );
  return rows.map(({ toolset_id, run_id, ...rest }) => ({ toolsetId: toolset_id, runId: run_id, ...rest }));
}

const CANCEL = `
with hit as (
  update holdpoint.runs set
    cancel_reason = coalesce(cancel_reason, $2), wake = wake + 1,
    runnable_at = case when owner is null then null else now() end,
    phase = case when owner is null then 'Cancelled' else phase end,
    waiting_for = null, wake_at = null,
    finished_at = case when owner is null then now() end,
    error = case when owner is null then $3 end
  where uid = $1 and finished_at is null
  returning toolset_id, run_id, owner
), closed as (
  update holdpoint.holds h set outcome = 'Cancelled', outcome_note = to_json($2::text)::text, closed_at = now()
  from hit where hit.owner is null and h.toolset_id = hit.toolset_id and h.run_id = hit.run_id and h.closed_at is null
), projected as (
  insert into holdpoint.projections (toolset_id, run_id) select toolset_id, run_id from hit
)
select toolset_id, run_id, owner is not null as owned from hit`;

/**
 * Cancels the run of that object. One that nobody owns ends here and now, and no dispatcher is started for it; one that is
 * owned is woken, and its owner ends it.
 * @returns undefined when no unfinished run is that object's
 */
export async function cancelRun(
  sql: Sql,
  uid: string,
  reason: string,
): Promise<{ toolsetId: number; owned: boolean } | undefined> {
  const error = JSON.stringify({ code: "Cancelled", message: reason });
  const { rows } = await sql.query<{ toolset_id: number; owned: boolean }>(CANCEL, [uid, reason, error]);
  const row = rows[0];
  return row && { toolsetId: row.toolset_id, owned: row.owned };
}

/** Brings a signal to a run that lives, and wakes it, in one transaction. @returns false when the run has ended or is unknown */
export async function sendSignal(sql: Sql, runId: string, name: string, payloadText: string): Promise<boolean> {
  const { rowCount } = await sql.query(
    `with woken as (
       update holdpoint.runs set wake = wake + 1, runnable_at = now() where run_id = $1 and finished_at is null
       returning toolset_id, run_id
     )
     insert into holdpoint.signals (toolset_id, run_id, name, payload) select toolset_id, run_id, $2, $3 from woken`,
    [runId, name, payloadText],
  );
  return rowCount > 0;
}

/** What status shows of a run. Texts are the journal's: JSON, whole. */
export interface RunView {
  readonly toolsetId: number;
  readonly runId: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly pinDigest: string;
  readonly requester: string;
  readonly phase: string;
  readonly waitingFor?: string;
  readonly accepted?: boolean;
  readonly acceptedNoteText?: string;
  readonly callsText?: string;
  readonly resultText?: string;
  readonly errorText?: string;
  readonly cancelReason?: string;
  readonly admittedAtMs: number;
  readonly startedAtMs?: number;
  readonly wakeAtMs?: number;
  readonly finishedAtMs?: number;
  readonly holds: readonly HoldView[];
}

export interface HoldView {
  readonly holdId: string;
  readonly seq: number;
  readonly tool: string;
  readonly reason: string;
  readonly actions: readonly string[];
  readonly callDigest: string;
  readonly shownText: string;
  readonly parkedAtMs: number;
  readonly action?: string;
  readonly decidedBy?: string;
  readonly decidedReason?: string;
  readonly decidedAtMs?: number;
  readonly outcome?: string;
  readonly outcomeNote?: string;
  readonly closedAtMs?: number;
}

const ms = (column: string) => `(extract(epoch from ${column}) * 1000)::bigint`;

const HOLDS_SHOWN_MAX = 200;
/** Open holds first, then the newest closed ones; one object a hold, so that a run is one row. */
const VIEW = `
select r.toolset_id as "toolsetId", r.run_id as "runId", r.namespace, r.name, r.uid, r.pin_digest as "pinDigest", r.requester, r.phase,
  r.waiting_for as "waitingFor", r.accepted, r.accepted_note as "acceptedNoteText", r.calls as "callsText", r.result as "resultText",
  r.error as "errorText", r.cancel_reason as "cancelReason", ${ms("r.admitted_at")} as "admittedAtMs", ${ms("r.started_at")} as "startedAtMs",
  ${ms("r.wake_at")} as "wakeAtMs", ${ms("r.finished_at")} as "finishedAtMs",
  coalesce((select json_agg(h) from (
    select hold_id as "holdId", seq, tool, reason, actions, call_digest as "callDigest", shown as "shownText", ${ms("parked_at")} as "parkedAtMs",
      action, decided_by as "decidedBy", decided_reason as "decidedReason", ${ms("decided_at")} as "decidedAtMs",
      outcome, outcome_note as "outcomeNote", ${ms("closed_at")} as "closedAtMs"
    from holdpoint.holds where toolset_id = r.toolset_id and run_id = r.run_id
    order by (closed_at is null) desc, case when closed_at is null then seq end, closed_at desc limit ${HOLDS_SHOWN_MAX}) h), '[]'::json) as holds
from holdpoint.runs r`;

/** Reads what status shows, for runs by their journal ids. */
export async function viewRuns(sql: Sql, runIds: readonly string[]): Promise<RunView[]> {
  const { rows } = await sql.query<Record<string, unknown>>(`${VIEW} where r.run_id = any($1::uuid[])`, [runIds]);
  return rows.map(withoutNulls);
}

/** Reads what status shows of the run that is that object's. */
export async function viewRunOfObject(sql: Sql, uid: string): Promise<RunView | undefined> {
  const { rows } = await sql.query<Record<string, unknown>>(`${VIEW} where r.uid = $1`, [uid]);
  return rows[0] && withoutNulls(rows[0]);
}

function withoutNulls(row: Record<string, unknown>): RunView {
  const holds = (row["holds"] as Record<string, unknown>[]).map((hold) => readTexts(dropNulls(hold)));
  return { ...dropNulls(row), holds } as unknown as RunView;
}

/** People's words are stored as JSON text. */
function readTexts(hold: Record<string, unknown>): Record<string, unknown> {
  const words = ["decidedReason", "outcomeNote"].flatMap((key) =>
    typeof hold[key] === "string" ? [[key, JSON.parse(hold[key])] as const] : [],
  );
  return { ...hold, ...Object.fromEntries(words) };
}

function dropNulls(row: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null));
}
