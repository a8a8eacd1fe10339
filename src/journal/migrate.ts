import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { HoldpointError } from "../base/errors.ts";
import type { Sql } from "./sql.ts";

const FOLDER = join(import.meta.dirname, "migrations");
const FILE_NAME = /^(\d{4})-[a-z0-9-]+\.sql$/;
/** Any fixed number: all controllers of all versions lock the same one while they migrate. */
const LOCK_KEY = 4_857_301_126;

interface Migration {
  readonly version: number;
  readonly text: string;
}

function readMigrations(): Migration[] {
  return readdirSync(FOLDER)
    .filter((name) => FILE_NAME.test(name))
    .sort()
    .map((name) => ({ version: Number(name.slice(0, 4)), text: readFileSync(join(FOLDER, name), "utf8") }));
}

/** The journal version that this code knows: the number of its last migration. */
export const journalVersion = readMigrations().at(-1)?.version ?? 0;

/**
 * Brings the journal's schema up to this code's version, one transaction a migration, under an advisory lock, so that any
 * number of controllers may start at once. A journal that is newer than this code is left as it is.
 * @returns the versions that were applied
 * @throws HoldpointError `JournalEncoding`
 */
export async function migrate(sql: Sql): Promise<number[]> {
  const { rows } = await sql.query<{ encoding: string }>("select current_setting('server_encoding') as encoding");
  if (rows[0]?.encoding !== "UTF8")
    throw new HoldpointError("JournalEncoding", `the journal's database has the encoding ${rows[0]?.encoding}`);
  const applied: number[] = [];
  for (const migration of readMigrations()) if (await applyOnce(sql, migration)) applied.push(migration.version);
  return applied;
}

async function applyOnce(sql: Sql, migration: Migration): Promise<boolean> {
  return await sql.transaction(async (transaction) => {
    await transaction.query("select pg_advisory_xact_lock($1)", [LOCK_KEY]);
    await transaction.query("create schema if not exists holdpoint");
    await transaction.query(
      "create table if not exists holdpoint.migrations (version integer primary key, applied_at timestamptz not null default now())",
    );
    const { rows } = await transaction.query("select 1 from holdpoint.migrations where version = $1", [
      migration.version,
    ]);
    if (rows.length > 0) return false;
    await transaction.query(migration.text);
    await transaction.query("insert into holdpoint.migrations (version) values ($1)", [migration.version]);
    return true;
  });
}

/**
 * Makes the journal this installation's, once and for all.
 * @param clusterUid the uid of the cluster's kube-system namespace, or of the local state folder
 * @throws HoldpointError `JournalOfAnotherCluster`
 */
export async function claimInstallation(sql: Sql, clusterUid: string): Promise<void> {
  await sql.query("insert into holdpoint.installation (cluster_uid) values ($1) on conflict do nothing", [clusterUid]);
  const { rows } = await sql.query<{ cluster_uid: string }>("select cluster_uid from holdpoint.installation");
  const owner = rows[0]?.cluster_uid;
  if (owner !== clusterUid) {
    throw new HoldpointError(
      "JournalOfAnotherCluster",
      `this journal belongs to the installation ${owner}, and this is ${clusterUid}`,
    );
  }
}
