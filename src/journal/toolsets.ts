import type { Sql } from "./sql.ts";

/** A Toolset as the controller saw it last. */
export interface ObservedToolset {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly generation: number;
  /** Exact JSON text of the spec. */
  readonly specText: string;
  readonly suspended: boolean;
  /** What makes a new pin necessary when it changes: the spec's digest without `suspend` and the dispatcher's settings, and the repin annotation. */
  readonly pinReason: string;
}

/** What the journal knows of a Toolset. */
export interface ToolsetState {
  readonly toolsetId: number;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly generation: number;
  readonly specText: string;
  readonly suspended: boolean;
  readonly pinWanted: number;
  readonly pinDone: number;
  readonly pinDigest?: string;
  readonly pinnedAtMs?: number;
  readonly reportText?: string;
}

const STATE = `toolset_id as "toolsetId", namespace, name, uid, generation, spec as "specText", suspended, pin_wanted as "pinWanted", pin_done as "pinDone",
  pin_digest as "pinDigest", (extract(epoch from pinned_at) * 1000)::bigint as "pinnedAtMs", report as "reportText"`;

/** Writes down what the controller sees of a Toolset, and wishes a pin when its reason changed. */
export async function observeToolset(sql: Sql, toolset: ObservedToolset): Promise<ToolsetState> {
  const { rows } = await sql.query<Record<string, unknown>>(
    `insert into holdpoint.toolsets as t (namespace, name, uid, generation, spec, suspended, pin_reason, pin_wanted)
     values ($1, $2, $3, $4, $5, $6, $7, 1)
     on conflict (namespace, name) do update set uid = excluded.uid, generation = excluded.generation, spec = excluded.spec,
       suspended = excluded.suspended, pin_reason = excluded.pin_reason, deleted_at = null,
       pin_wanted = t.pin_wanted + (t.pin_reason is distinct from excluded.pin_reason or t.deleted_at is not null)::int
     returning ${STATE}`,
    [
      toolset.namespace,
      toolset.name,
      toolset.uid,
      toolset.generation,
      toolset.specText,
      toolset.suspended,
      toolset.pinReason,
    ],
  );
  return asState(rows[0]);
}

/** Reads Toolsets by their numbers. */
export async function readToolsets(sql: Sql, toolsetIds: readonly number[]): Promise<ToolsetState[]> {
  const { rows } = await sql.query<Record<string, unknown>>(
    `select ${STATE} from holdpoint.toolsets where toolset_id = any($1::bigint[])`,
    [toolsetIds],
  );
  return rows.map(asState);
}

/** Finds a Toolset by its object's name; deleted ones are not found. */
export async function findToolset(sql: Sql, namespace: string, name: string): Promise<ToolsetState | undefined> {
  const { rows } = await sql.query<Record<string, unknown>>(
    `select ${STATE} from holdpoint.toolsets where namespace = $1 and name = $2 and deleted_at is null`,
    [namespace, name],
  );
  return rows[0] && asState(rows[0]);
}

/** Marks a Toolset's object as gone. Its pins and runs stay. */
export async function forgetToolset(sql: Sql, namespace: string, name: string): Promise<void> {
  await sql.query(
    "update holdpoint.toolsets set deleted_at = now() where namespace = $1 and name = $2 and deleted_at is null",
    [namespace, name],
  );
}

/** Wishes for a pin again after one that failed, unless one is wished already. */
export async function wishPinAgain(sql: Sql, toolsetId: number): Promise<void> {
  await sql.query(
    "update holdpoint.toolsets set pin_wanted = pin_wanted + 1 where toolset_id = $1 and pin_wanted = pin_done",
    [toolsetId],
  );
}

function asState(row: Record<string, unknown> | undefined): ToolsetState {
  if (!row) throw new Error("the journal answered without the Toolset's row");
  return Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null)) as unknown as ToolsetState;
}
