import { createHash, createHmac, pbkdf2Sync, randomBytes } from "node:crypto";
import type { Sql } from "./sql.ts";

/** As whom the dispatchers of a Toolset reach the journal. */
export interface ToolsetRole {
  /** The Toolset's own role, or the one that this connection has. */
  readonly role: string;
  /** Whether the role was made just now. */
  readonly created: boolean;
  /** No role of its own could be made: the dispatchers share this connection's role, and row security does not part them. */
  readonly shared: boolean;
  /** Why it is shared: what the database said. */
  readonly reason?: string;
}

/**
 * What a dispatcher may do, and no more: nothing is deleted, a log is never changed, a decision is never made, and what
 * somebody asked for (spec, script, input, requester) is never touched.
 */
const GRANTS: readonly string[] = [
  "select on holdpoint.toolsets",
  "update (pin_done, report, pin_tried_at, pin_digest, pinned_at) on holdpoint.toolsets",
  "select, insert on holdpoint.pins",
  "select, insert on holdpoint.incarnations",
  "update (lease_until, dead) on holdpoint.incarnations",
  "select on holdpoint.runs",
  `update (engine, behaviours, module, phase, waiting_for, accepted, accepted_note, owner, losses, wake, runnable_at, calls, result,
     error, started_at, wake_at, finished_at) on holdpoint.runs`,
  "select, insert on holdpoint.log",
  "select on holdpoint.holds",
  "insert (toolset_id, run_id, hold_id, seq, tool, reason, actions, call_digest, shown) on holdpoint.holds",
  "update (outcome, outcome_note, closed_at) on holdpoint.holds",
  "select on holdpoint.signals",
  "insert (toolset_id, run_id) on holdpoint.projections",
];

/** SQLSTATEs that say that this connection may not make or change roles: a managed server, or a plain owner. */
const NOT_ALLOWED = new Set(["42501", "0A000"]);
/** Any fixed number: two controllers that grant at once would meet in the catalogue. */
const LOCK_KEY = 4_857_301_127;

/** The role of a Toolset's dispatchers in the journal of that database; migration 0002 reads the Toolset's number from it. */
export function toolsetRoleName(database: string, toolsetId: number): string {
  return `holdpoint_toolset_${toolsetId}_${databaseTag(database)}`;
}

/** The role that carries what all dispatchers of a journal may do. Nobody logs in with it. */
export function dispatcherGroupName(database: string): string {
  return `holdpoint_dispatcher_${databaseTag(database)}`;
}

/** Roles belong to a server and not to a database: their names tell the journals of one server apart. */
function databaseTag(database: string): string {
  return createHash("sha256").update(database).digest("hex").slice(0, 8);
}

/**
 * Makes the role of a Toolset's dispatchers where there is none, gives it exactly what a dispatcher needs, and sets its
 * password. Once or many times, by one controller or several.
 * @param password of ASCII letters, digits and signs; it reaches the server only as a SCRAM verifier. Without one nobody logs in.
 * @returns `shared: true` where this connection may not make roles; nothing was changed then
 * @throws DatabaseError when the database is away
 */
export async function ensureToolsetRole(sql: Sql, toolsetId: number, password?: string): Promise<ToolsetRole> {
  if (!Number.isSafeInteger(toolsetId) || toolsetId < 1) throw new RangeError(`no Toolset has the number ${toolsetId}`);
  try {
    return await sql.transaction(async (transaction) => {
      await transaction.query("select pg_advisory_xact_lock($1)", [LOCK_KEY]);
      const { rows } = await transaction.query<{ database: string }>("select current_database() as database");
      const database = rows[0]?.database ?? "";
      const group = dispatcherGroupName(database);
      await createRole(transaction, group);
      await grantOnce(transaction, group, database);
      const role = toolsetRoleName(database, toolsetId);
      const created = await createRole(transaction, role);
      if (created) await transaction.query(`grant ${group} to ${role}`);
      const login = password === undefined ? "nologin" : `login password '${scramVerifier(password)}'`;
      await transaction.query(`alter role ${role} with ${login}`);
      return { role, created, shared: false };
    });
  } catch (error) {
    if (!NOT_ALLOWED.has(String((error as { code?: unknown }).code))) throw error;
    const { rows } = await sql.query<{ role: string }>("select current_user::text as role");
    return { role: rows[0]?.role ?? "", created: false, shared: true, reason: (error as Error).message };
  }
}

type Transaction = Pick<Sql, "query">;

/** @param role a name of ours: letters, digits and underscores */
async function createRole(transaction: Transaction, role: string): Promise<boolean> {
  const { rows } = await transaction.query("select 1 from pg_catalog.pg_roles where rolname = $1", [role]);
  if (rows.length > 0) return false;
  await transaction.query(`create role ${role} with nologin nosuperuser nocreatedb nocreaterole noreplication inherit`);
  return true;
}

/**
 * Gives the group its rights, unless it has them: a comment on the role says which ones it was given last. Asked again all
 * the same where it has none, as after a restore without rights.
 */
async function grantOnce(transaction: Transaction, group: string, database: string): Promise<void> {
  const mark = `grants ${createHash("sha256").update(GRANTS.join("\n")).digest("hex").slice(0, 16)}`;
  const { rows } = await transaction.query<{ current: boolean }>(
    `select coalesce(pg_catalog.shobj_description(oid, 'pg_authid'), '') = $2 and pg_catalog.has_table_privilege(oid, 'holdpoint.log', 'insert') as current
     from pg_catalog.pg_roles where rolname = $1`,
    [group, mark],
  );
  if (rows[0]?.current) return;
  // Where not everybody may connect. One who may not grant it is only warned, and is told by the dispatchers' first attempt.
  await transaction.query(`grant connect on database "${database.replaceAll('"', '""')}" to ${group}`);
  await transaction.query(`revoke all on all tables in schema holdpoint from ${group}`);
  await transaction.query(`grant usage on schema holdpoint to ${group}`);
  for (const grant of GRANTS) await transaction.query(`grant ${grant} to ${group}`);
  await transaction.query(`comment on role ${group} is '${mark}'`);
}

const SCRAM_ITERATIONS = 4_096;

/** What the server stores of a password (RFC 5803): made here, so that the password itself stands in no server's log. */
function scramVerifier(password: string): string {
  if (!/^[\x21-\x7e]+$/.test(password)) throw new RangeError("a role's password is made of visible ASCII characters");
  const salt = randomBytes(16);
  const salted = pbkdf2Sync(password, salt, SCRAM_ITERATIONS, 32, "sha256");
  const key = (name: string) => createHmac("sha256", salted).update(name).digest();
  const storedKey = createHash("sha256").update(key("Client Key")).digest("base64");
  return `SCRAM-SHA-256$${SCRAM_ITERATIONS}:${salt.toString("base64")}$${storedKey}:${key("Server Key").toString("base64")}`;
}
