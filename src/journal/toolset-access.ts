import { randomBytes } from "node:crypto";
import type { Logger } from "../base/log.ts";
import { openPostgres } from "./postgres.ts";
import { ensureToolsetRole, type ToolsetRole } from "./roles.ts";
import type { Sql } from "./sql.ts";

export interface ToolsetAccessSpec {
  /** The controller's connection. */
  readonly sql: Sql;
  /** The URL behind it: dispatchers go to the same place under another name. */
  readonly url: string;
  readonly log: Logger;
}

/** What is said to a user that is not let in: by the server, of this database, and by poolers that do not know the user. */
const NOT_LET_IN = /^(28...|42501|08P01)$/;
const PASSWORD_BYTES = 24;

/**
 * Tells under which URL the dispatchers of a Toolset reach the journal: under a role of their own, with a password that only
 * this process and its dispatchers know; or, where the server makes no roles or does not let them in, as the controller does,
 * which is said in the log.
 */
export class ToolsetAccess {
  readonly #spec: ToolsetAccessSpec;
  readonly #passwords = new Map<number, string>();
  readonly #warned = new Set<number>();

  constructor(spec: ToolsetAccessSpec) {
    this.#spec = spec;
  }

  /** @throws Error when the database is away, so that it is not known what it would allow: ask again */
  async urlFor(toolsetId: number): Promise<string> {
    const password = this.#passwords.get(toolsetId) ?? randomBytes(PASSWORD_BYTES).toString("base64url");
    this.#passwords.set(toolsetId, password);
    const made = await ensureToolsetRole(this.#spec.sql, toolsetId, password);
    if (made.shared) return this.#share(toolsetId, made);
    const url = asUser(this.#spec.url, made.role, password);
    const refusal = await whyNotLetIn(url);
    return refusal === undefined ? url : this.#share(toolsetId, { ...made, reason: refusal });
  }

  #share(toolsetId: number, { role, reason }: ToolsetRole): string {
    if (!this.#warned.has(toolsetId)) {
      this.#warned.add(toolsetId);
      this.#spec.log.warn(
        { toolsetId, role, reason },
        "the dispatchers of this Toolset share the controller's database role: nothing in the database keeps them to its rows",
      );
    }
    return this.#spec.url;
  }
}

function asUser(url: string, role: string, password: string): string {
  const changed = new URL(url);
  changed.username = role;
  changed.password = password;
  // These would win over the name before the host.
  for (const name of ["user", "password"]) changed.searchParams.delete(name);
  return changed.href;
}

/** @returns what was said; undefined when the user is let in @throws Error for any other failure */
async function whyNotLetIn(url: string): Promise<string | undefined> {
  const sql = openPostgres({ url, connectionsMax: 1, onConnectionError: () => {} });
  try {
    await sql.query("select 1");
    return undefined;
  } catch (error) {
    if (NOT_LET_IN.test(String((error as { code?: unknown }).code))) return (error as Error).message;
    throw error;
  } finally {
    await sql.close();
  }
}
