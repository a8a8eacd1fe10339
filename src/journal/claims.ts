import type { Sql } from "./sql.ts";

/** A run that this incarnation owns now, with all that driving it needs. */
export interface ClaimedRun {
  readonly runId: string;
  readonly namespace: string;
  readonly name: string;
  readonly pinDigest: string;
  readonly script: string;
  readonly inputText?: string;
  readonly seed: string;
  readonly engine?: string;
  readonly behaviours?: readonly number[];
  /** The module as it was admitted to the sandbox: present once the script was type-checked. */
  readonly moduleSource?: string;
  readonly phase: string;
  readonly wake: number;
  readonly losses: number;
  readonly cancelReason?: string;
  readonly startedAtMs?: number;
  /** The database's clock at the claim, so that waits are compared with it and not with this machine's. */
  readonly databaseNowMs: number;
}

const CLAIM_COLUMNS = `r.run_id, r.namespace, r.name, r.pin_digest, r.script, r.input, r.seed, r.engine, r.behaviours, r.module, r.phase, r.wake, r.losses,
  r.cancel_reason, (extract(epoch from r.started_at) * 1000)::bigint as started_at_ms, (extract(epoch from clock_timestamp()) * 1000)::bigint as now_ms`;

const CLAIM = `
with fence as materialized (
  select i.id, i.toolset_id from holdpoint.incarnations i join holdpoint.toolsets t using (toolset_id)
  where i.id = $1 and not i.dead and not i.draining and not t.suspended for key share of i
), picked as materialized (
  select r.toolset_id, r.run_id from holdpoint.runs r join fence f on r.toolset_id = f.toolset_id
  where r.owner is null and r.runnable_at <= now() and not r.run_id = any($3::uuid[])
  order by r.runnable_at limit $2 for update of r skip locked
)
update holdpoint.runs r set owner = $1, runnable_at = null
from picked p where r.toolset_id = p.toolset_id and r.run_id = p.run_id
returning ${CLAIM_COLUMNS}`;

interface ClaimRow {
  run_id: string;
  namespace: string;
  name: string;
  pin_digest: string;
  script: string;
  input: string | null;
  seed: string;
  engine: string | null;
  behaviours: number[] | null;
  module: string | null;
  phase: string;
  wake: number;
  losses: number;
  cancel_reason: string | null;
  started_at_ms: number | null;
  now_ms: number;
}

/**
 * Claims up to `countMax` runs that wait for work; none while the incarnation is dead or draining, or the Toolset suspended.
 * @param except runs that are left to others for now
 */
export async function claimRuns(
  sql: Sql,
  incarnationId: string,
  countMax: number,
  except: readonly string[] = [],
): Promise<ClaimedRun[]> {
  const { rows } = await sql.query<ClaimRow>(CLAIM, [incarnationId, countMax, except]);
  return rows.map(claimedRun);
}

/** Reads runs that this incarnation claimed without learning of it: the claim's answer was lost. Those of others are left out. */
export async function readClaimed(sql: Sql, incarnationId: string, runIds: readonly string[]): Promise<ClaimedRun[]> {
  const { rows } = await sql.query<ClaimRow>(
    `select ${CLAIM_COLUMNS} from holdpoint.runs r join holdpoint.incarnations i on i.id = r.owner and not i.dead
     where r.owner = $1 and r.run_id = any($2::uuid[])`,
    [incarnationId, runIds],
  );
  return rows.map(claimedRun);
}

function claimedRun(row: ClaimRow): ClaimedRun {
  return {
    runId: row.run_id,
    namespace: row.namespace,
    name: row.name,
    pinDigest: row.pin_digest,
    script: JSON.parse(row.script) as string,
    seed: row.seed,
    phase: row.phase,
    wake: row.wake,
    losses: row.losses,
    databaseNowMs: row.now_ms,
    ...(row.input === null ? {} : { inputText: row.input }),
    ...(row.engine === null ? {} : { engine: row.engine }),
    ...(row.behaviours === null ? {} : { behaviours: row.behaviours }),
    ...(row.module === null ? {} : { moduleSource: JSON.parse(row.module) as string }),
    ...(row.cancel_reason === null ? {} : { cancelReason: row.cancel_reason }),
    ...(row.started_at_ms === null ? {} : { startedAtMs: row.started_at_ms }),
  };
}

const FENCE =
  "with fence as materialized (select id, toolset_id from holdpoint.incarnations where id = $1 and not dead for key share)";

/** What acceptance fixes for the rest of a run's life. */
export interface RunStart {
  readonly runId: string;
  readonly moduleSource: string;
  readonly engine: string;
  readonly behaviours: readonly number[];
  /** JSON text: warnings of the type-checker. */
  readonly noteText: string;
}

/** Records that a run was accepted and starts. @returns false when it is not this incarnation's any more */
export async function startRun(
  sql: Sql,
  incarnationId: string,
  start: RunStart,
): Promise<{ owned: boolean; startedAtMs: number }> {
  const { rows } = await sql.query<{ started_at_ms: number }>(
    `${FENCE}, started as (
       update holdpoint.runs r set accepted = true, accepted_note = $3, module = $4, engine = $5, behaviours = $6::int[], phase = 'Running',
         started_at = coalesce(r.started_at, date_trunc('milliseconds', now()))
       from fence f where r.toolset_id = f.toolset_id and r.run_id = $2 and r.owner = f.id
       returning r.toolset_id, r.run_id, (extract(epoch from r.started_at) * 1000)::bigint as started_at_ms
     ), projected as (insert into holdpoint.projections (toolset_id, run_id) select toolset_id, run_id from started)
     select started_at_ms from started`,
    [incarnationId, start.runId, start.noteText, JSON.stringify(start.moduleSource), start.engine, start.behaviours],
  );
  const row = rows[0];
  return row ? { owned: true, startedAtMs: row.started_at_ms } : { owned: false, startedAtMs: 0 };
}

/** How a run looks from outside, without having ended. */
export interface RunProgress {
  readonly runId: string;
  readonly phase: string;
  readonly waitingFor?: string;
  readonly wakeAtMs?: number;
  /** JSON text of the counts of calls; absent: they stay as they were noted last. */
  readonly callsText?: string;
}

/** Records how a run looks from outside while it is held, for status. */
export async function noteProgress(sql: Sql, incarnationId: string, progress: RunProgress): Promise<void> {
  await sql.query(
    `${FENCE}, noted as (
       update holdpoint.runs r set phase = $3, waiting_for = $4, wake_at = to_timestamp($5::bigint / 1000.0), calls = coalesce($6, calls)
       from fence f where r.toolset_id = f.toolset_id and r.run_id = $2 and r.owner = f.id returning r.toolset_id, r.run_id
     ) insert into holdpoint.projections (toolset_id, run_id) select toolset_id, run_id from noted`,
    [
      incarnationId,
      progress.runId,
      progress.phase,
      progress.waitingFor ?? null,
      progress.wakeAtMs ?? null,
      progress.callsText ?? null,
    ],
  );
}

export type ReleaseOutcome = "released" | "woken" | "lost";

/**
 * Gives a run back that has nothing to do now. Only where nothing came since `wakeSeen`: otherwise a decision that meets the
 * release would be lost. The last write of an ownership.
 * @param runnableAtMs the earliest of its timers by the database's clock; absent when only others can wake it
 */
export async function releaseRun(
  sql: Sql,
  incarnationId: string,
  progress: RunProgress,
  wakeSeen: number,
  runnableAtMs: number | undefined,
): Promise<ReleaseOutcome> {
  const { rows } = await sql.query<{ owned: boolean; released: boolean }>(
    `${FENCE}, released as (
       update holdpoint.runs r set owner = null, phase = $3, waiting_for = $4, wake_at = to_timestamp($5::bigint / 1000.0), calls = coalesce($6, calls),
         runnable_at = to_timestamp($8::bigint / 1000.0), losses = 0
       from fence f where r.toolset_id = f.toolset_id and r.run_id = $2 and r.owner = f.id and r.wake = $7
       returning r.toolset_id, r.run_id
     ), projected as (insert into holdpoint.projections (toolset_id, run_id) select toolset_id, run_id from released)
     select exists (select 1 from released) as released,
       exists (select 1 from holdpoint.runs r join fence f on r.toolset_id = f.toolset_id where r.run_id = $2 and r.owner = f.id) as owned`,
    [
      incarnationId,
      progress.runId,
      progress.phase,
      progress.waitingFor ?? null,
      progress.wakeAtMs ?? null,
      progress.callsText ?? null,
      wakeSeen,
      runnableAtMs ?? null,
    ],
  );
  if (rows[0]?.released) return "released";
  return rows[0]?.owned ? "woken" : "lost";
}

/** How a run ended. Texts are JSON. */
export interface RunEnd {
  readonly runId: string;
  readonly phase: "Succeeded" | "Failed" | "Cancelled";
  readonly resultText?: string;
  readonly errorText?: string;
  /** JSON text of the counts of calls; absent: they stay as they were noted last. */
  readonly callsText?: string;
  /** Set when the script never started: why it was not accepted, as JSON text. */
  readonly refusedNoteText?: string;
}

/** Ends a run: the outcome, its open holds closed, the owner gone, in one statement. @returns false when it is not ours any more */
export async function finishRun(sql: Sql, incarnationId: string, end: RunEnd): Promise<boolean> {
  const { rows } = await sql.query<{ finished: number }>(
    `${FENCE}, finished as (
       update holdpoint.runs r set owner = null, runnable_at = null, phase = $3, waiting_for = null, wake_at = null, result = $4, error = $5, calls = coalesce($6, calls),
         finished_at = now(), accepted = case when $7::text is null then accepted else false end, accepted_note = coalesce($7, accepted_note)
       from fence f where r.toolset_id = f.toolset_id and r.run_id = $2 and r.owner = f.id
       returning r.toolset_id, r.run_id
     ), closed as (
       update holdpoint.holds h set outcome = case when $3 = 'Cancelled' then 'Cancelled' else 'Withdrawn' end, outcome_note = '""', closed_at = now()
       from finished where h.toolset_id = finished.toolset_id and h.run_id = finished.run_id and h.closed_at is null
     ), projected as (insert into holdpoint.projections (toolset_id, run_id) select toolset_id, run_id from finished)
     select count(*)::int as finished from finished`,
    [
      incarnationId,
      end.runId,
      end.phase,
      end.resultText ?? null,
      end.errorText ?? null,
      end.callsText ?? null,
      end.refusedNoteText ?? null,
    ],
  );
  return rows[0]?.finished === 1;
}

/** A run of this incarnation to which something came since it was claimed. */
export interface WokenRun {
  readonly runId: string;
  readonly wake: number;
  readonly cancelReason?: string;
}

/** The runs of this incarnation that were woken: they have a `runnable_at` although they are owned. It is cleared here. */
export async function takeWokenRuns(sql: Sql, incarnationId: string): Promise<WokenRun[]> {
  const { rows } = await sql.query<{ run_id: string; wake: number; cancel_reason: string | null }>(
    `${FENCE} update holdpoint.runs r set runnable_at = null from fence f
     where r.toolset_id = f.toolset_id and r.owner = f.id and r.runnable_at is not null
     returning r.run_id, r.wake, r.cancel_reason`,
    [incarnationId],
  );
  return rows.map(wokenRun);
}

/** How often a run of this incarnation was woken so far. @returns undefined when it is not this incarnation's any more */
export async function readWake(sql: Sql, incarnationId: string, runId: string): Promise<WokenRun | undefined> {
  const { rows } = await sql.query<{ run_id: string; wake: number; cancel_reason: string | null }>(
    "select run_id, wake, cancel_reason from holdpoint.runs where run_id = $2 and owner = $1",
    [incarnationId, runId],
  );
  return rows[0] && wokenRun(rows[0]);
}

/** Every run that is this incarnation's, and how often it was woken so far: for when an answer of the journal was lost. */
export async function readOwnedRuns(sql: Sql, incarnationId: string): Promise<WokenRun[]> {
  const { rows } = await sql.query<{ run_id: string; wake: number; cancel_reason: string | null }>(
    "select run_id, wake, cancel_reason from holdpoint.runs where owner = $1",
    [incarnationId],
  );
  return rows.map(wokenRun);
}

function wokenRun(row: { run_id: string; wake: number; cancel_reason: string | null }): WokenRun {
  return {
    runId: row.run_id,
    wake: row.wake,
    ...(row.cancel_reason === null ? {} : { cancelReason: row.cancel_reason }),
  };
}

/** The database's clock, in milliseconds since the epoch. */
export async function databaseNowMs(sql: Sql): Promise<number> {
  const { rows } = await sql.query<{ now_ms: number }>(
    "select (extract(epoch from clock_timestamp()) * 1000)::bigint as now_ms",
  );
  return rows[0]?.now_ms ?? 0;
}
