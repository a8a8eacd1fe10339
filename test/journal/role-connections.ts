import { newId } from "../../src/base/ids.ts";
import { openPostgres } from "../../src/journal/postgres.ts";
import { ensureToolsetRole } from "../../src/journal/roles.ts";
import type { Sql } from "../../src/journal/sql.ts";
import { createDatabase } from "../postgres/postgres.ts";

/** Opens connections as the roles of Toolsets, each once, and closes them together. */
export class RoleConnections {
  readonly #owner: Sql;
  readonly #url: string;
  readonly #opened: Sql[] = [];

  /** @param url where the journal is, as anybody */
  constructor(owner: Sql, url: string) {
    this.#owner = owner;
    this.#url = url;
  }

  /** The URL of a Toolset's role, which is made. */
  async url(toolsetId: number): Promise<string> {
    const password = newId();
    const { role, shared, reason } = await ensureToolsetRole(this.#owner, toolsetId, password);
    if (shared) throw new Error(`no role could be made: ${reason}`);
    return withUser(this.#url, role, password);
  }

  async open(toolsetId: number): Promise<Sql> {
    const sql = openAs(await this.url(toolsetId));
    this.#opened.push(sql);
    return sql;
  }

  async close(): Promise<void> {
    await Promise.all(this.#opened.map((sql) => sql.close()));
  }
}

/** The same place, as somebody else. */
export function withUser(url: string, role: string, password: string): string {
  const changed = new URL(url);
  changed.username = role;
  changed.password = password;
  return changed.href;
}

/** A few connections to a journal. */
export function openAs(url: string): Sql {
  return openPostgres({ url, connectionsMax: 4, onConnectionError: () => {} });
}

/** An empty database whose journal will belong to an ordinary role with these options, as on a managed server. */
export async function ordinaryOwner(options: string): Promise<{ url: string; drop: () => Promise<void> }> {
  const database = await createDatabase();
  const role = `owner_${newId().replaceAll("-", "")}`;
  const admin = openAs(database.url);
  await admin.query("drop schema holdpoint cascade");
  await admin.query(`create role ${role} login ${options}`);
  await admin.query(`grant create on database ${new URL(database.url).pathname.slice(1)} to ${role}`);
  await admin.close();
  return {
    url: withUser(database.url, role, "x"),
    drop: async () => {
      const left = openAs(database.url);
      await left.query(`drop owned by ${role} cascade`);
      await left.close();
      await database.drop();
    },
  };
}
