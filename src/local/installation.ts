import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { newId } from "../base/ids.ts";
import type { Sql } from "../journal/sql.ts";

const FILE = "installation";
const PREFIX = "local-";

/**
 * The uid under which a state folder owns its journal, in place of a cluster's. A folder that is new takes over what another
 * local one left in the journal, so that a lost folder costs no run; a cluster's journal is never taken over.
 * @param sql a journal whose schema is there
 */
export async function localInstallation(folder: string, sql: Sql): Promise<string> {
  const path = join(folder, FILE);
  const known = await readFile(path, "utf8").catch(noneIfAbsent);
  if (known !== undefined && known.trim() !== "") return known.trim();
  const { rows } = await sql.query<{ cluster_uid: string }>("select cluster_uid from holdpoint.installation");
  const left = rows[0]?.cluster_uid;
  const uid = left?.startsWith(PREFIX) ? left : `${PREFIX}${newId()}`;
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await writeFile(`${path}.new`, `${uid}\n`, { mode: 0o600 });
  await rename(`${path}.new`, path);
  return uid;
}

function noneIfAbsent(error: unknown): undefined {
  if ((error as { code?: unknown }).code === "ENOENT") return undefined;
  throw error;
}
