import { newId } from "../../src/base/ids.ts";
import { openPostgres } from "../../src/journal/postgres.ts";
import { ensureToolsetRole } from "../../src/journal/roles.ts";
import type { Sql } from "../../src/journal/sql.ts";

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
    const sql = openPostgres({ url: await this.url(toolsetId), connectionsMax: 4, onConnectionError: () => {} });
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
