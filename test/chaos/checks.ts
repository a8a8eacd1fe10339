import type { Sql } from "../../src/journal/sql.ts";
import type { LedgerEntry } from "../mcp/ledger.ts";
import { judgeResult, plannedCalls } from "./run-plan.ts";
import type { StreamedRun, TakenDecision } from "./run-stream.ts";

/** Something that must never happen. */
export interface Violation {
  readonly what: string;
  readonly runId?: string;
  readonly detail: string;
}

/** What can be seen while runs go on: by the observers inside the database, and of sends. */
export async function judgeSoFar(sql: Sql, entries: readonly LedgerEntry[]): Promise<Violation[]> {
  return [...(await observedViolations(sql)), ...(await judgeSends(sql, entries))];
}

async function observedViolations(sql: Sql): Promise<Violation[]> {
  const { rows } = await sql.query<{ what: string; run_id: string | null; detail: string }>(
    "select what, run_id, detail from chaos.violations order by at limit 100",
  );
  return rows.map((row) => ({
    what: row.what,
    detail: row.detail,
    ...(row.run_id === null ? {} : { runId: row.run_id }),
  }));
}

/** Everything that must hold once all runs have ended. */
export async function judgeAll(
  sql: Sql,
  runs: readonly StreamedRun[],
  decisions: readonly TakenDecision[],
  entries: readonly LedgerEntry[],
): Promise<Violation[]> {
  return [
    ...(await judgeSoFar(sql, entries)),
    ...(await judgeEnds(sql, runs)),
    ...(await judgeLogs(sql)),
    ...(await judgeHandOvers(sql)),
    ...(await judgeDecisions(sql, decisions)),
    ...judgeEffects(runs, entries),
  ];
}

async function judgeEnds(sql: Sql, runs: readonly StreamedRun[]): Promise<Violation[]> {
  const { rows } = await sql.query<{
    run_id: string;
    phase: string;
    finished: boolean;
    result: string | null;
    error: string | null;
  }>(
    "select run_id, phase, finished_at is not null as finished, result, error from holdpoint.runs where run_id = any($1::uuid[])",
    [runs.map(({ runId }) => runId)],
  );
  const byId = new Map(rows.map((row) => [row.run_id, row]));
  return runs.flatMap(({ runId, plan }): Violation[] => {
    const row = byId.get(runId);
    if (!row) return [{ what: "a run is gone", runId, detail: "" }];
    if (!row.finished) return [{ what: "a run did not end", runId, detail: `its phase is ${row.phase}` }];
    if (row.phase !== "Succeeded") return [{ what: "a run failed", runId, detail: row.error ?? row.phase }];
    return judgeResult(plan, row.result ?? "null").map((detail) => ({ what: "a wrong result", runId, detail }));
  });
}

async function judgeLogs(sql: Sql): Promise<Violation[]> {
  const gaps = await sql.query<{ run_id: string; detail: string }>(
    `select run_id, format('%s records from %s to %s', count(*), min(n), max(n)) as detail
     from holdpoint.log group by run_id having min(n) <> 1 or max(n) <> count(*)`,
  );
  const doubles = await sql.query<{ run_id: string; detail: string }>(
    `select run_id, format('%s records of kind %s for call %s', count(*), kind, seq) as detail
     from holdpoint.log where kind in (0, 1) group by run_id, kind, seq having count(*) > 1`,
  );
  const lost = await sql.query<{ run_id: string; detail: string }>(
    `select run_id, format('call %s was never settled', seq) as detail from holdpoint.log c join holdpoint.runs r using (toolset_id, run_id)
     where c.kind = 0 and r.phase = 'Succeeded' and not exists (select 1 from holdpoint.log s where s.run_id = c.run_id and s.seq = c.seq and s.kind = 1)`,
  );
  const named = (what: string, rows: readonly { run_id: string; detail: string }[]) =>
    rows.map((row) => ({ what, runId: row.run_id, detail: row.detail }));
  return [
    ...named("a gap in a log", gaps.rows),
    ...named("a call was recorded twice", doubles.rows),
    ...named("a call was lost", lost.rows),
  ];
}

/** Whoever is an owner was given the run when it was free: no run has two owners at once. */
async function judgeHandOvers(sql: Sql): Promise<Violation[]> {
  const { rows } = await sql.query<{ run_id: string; detail: string }>(
    `select run_id, format('from %s to %s, but the owner before was %s', previous, next, before) as detail from (
       select run_id, previous, next, lag(next) over (partition by run_id order by no) as before from chaos.owners) o
     where previous is distinct from before`,
  );
  return rows.map((row) => ({
    what: "a hand-over does not follow the one before",
    runId: row.run_id,
    detail: row.detail,
  }));
}

/** Intent before effect: the n-th arrival of a key at the server comes after its n-th send was recorded. */
async function judgeSends(sql: Sql, entries: readonly LedgerEntry[]): Promise<Violation[]> {
  const { rows } = await sql.query<{ key: string; at_ms: number }>(
    "select run_id || '/' || seq as key, floor(extract(epoch from at) * 1000)::bigint as at_ms from chaos.sends order by at",
  );
  const sends = new Map<string, number[]>();
  for (const { key, at_ms: atMs } of rows) sends.set(key, [...(sends.get(key) ?? []), atMs]);
  const arrivals = new Map<string, number>();
  return entries.flatMap(({ key, atMs, tool }): Violation[] => {
    const arrived = (arrivals.get(key) ?? 0) + 1;
    arrivals.set(key, arrived);
    const recorded = (sends.get(key) ?? []).filter((sentAtMs) => sentAtMs <= atMs).length;
    if (recorded >= arrived) return [];
    const detail = `call ${key} of ${tool} arrived for the ${arrived}. time when ${recorded} sends were recorded`;
    return [{ what: "an effect before its intent", runId: runOf(key), detail }];
  });
}

async function judgeDecisions(sql: Sql, decisions: readonly TakenDecision[]): Promise<Violation[]> {
  const { rows } = await sql.query<{ id: string; outcome: string | null; resolved: number }>(
    `select h.run_id || '/' || h.hold_id as id, h.outcome, (select count(*)::int from holdpoint.log l
       where l.toolset_id = h.toolset_id and l.run_id = h.run_id and l.kind = 6 and l.seq = h.seq) as resolved from holdpoint.holds h`,
  );
  const holds = new Map(rows.map((row) => [row.id, row]));
  return decisions.flatMap(({ runId, holdId, action }): Violation[] => {
    const hold = holds.get(`${runId}/${holdId}`);
    const wanted = action === "Approve" ? "Approved" : "Rejected";
    if (hold?.outcome === wanted && hold.resolved === 1) return [];
    const detail = `${holdId} was decided ${action}, its outcome is ${hold?.outcome}, carried out ${hold?.resolved} times`;
    return [{ what: "a decision was lost", runId, detail }];
  });
}

/** What the ledger says: one effect a key under Retry, at most one arrival under AtMostOnce, none of what was rejected. */
function judgeEffects(runs: readonly StreamedRun[], entries: readonly LedgerEntry[]): Violation[] {
  const byValue = new Map<string, LedgerEntry[]>();
  for (const entry of entries) {
    const { value } = JSON.parse(entry.argumentsText) as { value: string };
    const place = `${runOf(entry.key)} ${value}`;
    byValue.set(place, [...(byValue.get(place) ?? []), entry]);
  }
  return runs.flatMap(({ runId, plan }) =>
    plannedCalls(plan).flatMap((call): Violation[] => {
      const arrived = byValue.get(`${runId} ${call.value}`) ?? [];
      const effects = arrived.filter(({ effect }) => effect).length;
      const keys = new Set(arrived.map(({ key }) => key)).size;
      const detail = `${call.value} of ${call.tool}: ${arrived.length} arrivals, ${effects} effects, ${keys} keys`;
      if (call.verdict === "Reject")
        return arrived.length > 0 ? [{ what: "a rejected call was sent", runId, detail }] : [];
      const isRetried = call.tool === "act" || call.tool === "ask";
      if (isRetried && (effects !== 1 || keys !== 1)) return [{ what: "not exactly one effect", runId, detail }];
      if (!isRetried && arrived.length > 1) return [{ what: "sent twice though AtMostOnce", runId, detail }];
      return [];
    }),
  );
}

function runOf(key: string): string {
  return key.split("/")[0] ?? "";
}
