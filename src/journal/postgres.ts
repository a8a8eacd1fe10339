import pg from "pg";
import type { QueryResult, Sql } from "./sql.ts";

export interface PostgresOptions {
  /** postgres:// URL, may be a pooler's in transaction mode. */
  readonly url: string;
  /** postgres:// URL past any pooler, for LISTEN; without it polling alone finds changes. */
  readonly directUrl?: string;
  readonly connectionsMax: number;
  /** Called with each error of an idle connection; the pool renews itself. */
  readonly onConnectionError: (error: Error) => void;
}

const CONNECT_TIMEOUT_MS = 5_000;
const STATEMENT_TIMEOUT_MS = 30_000;
const LISTEN_RETRY_MS = 2_000;
const HINT_PAUSE_MS = 20;
const INT8_OID = 20;

/** Opens a pool. Nothing is connected before the first query, and a lost connection is renewed by the next one. */
export function openPostgres(options: PostgresOptions): Sql {
  const types = {
    getTypeParser: (oid: number, format?: "text" | "binary") =>
      oid === INT8_OID ? Number : pg.types.getTypeParser(oid, format as "text"),
  };
  const pool = new pg.Pool({
    connectionString: options.url,
    max: options.connectionsMax,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: STATEMENT_TIMEOUT_MS,
    keepAlive: true,
    types: types as pg.CustomTypesConfig,
  });
  pool.on("error", options.onConnectionError);
  const listener =
    options.directUrl === undefined ? undefined : new HintListener(options.directUrl, options.onConnectionError);
  return {
    query: async <Row>(statement: string, values: readonly unknown[] = []) =>
      asResult<Row>(await pool.query(statement, [...values])),
    transaction: (work) => inTransaction(pool, work),
    listen: async (channel, onHint) => listener?.add(channel, onHint) ?? (async () => {}),
    notify: hintSender((channel) => void pool.query("select pg_notify($1, '')", [channel]).catch(() => {})),
    close: async () => {
      await listener?.close();
      await pool.end();
    },
  };
}

/** Hints say only that there is something: the first goes out at once, those that follow within a moment go out as one. */
function hintSender(send: (channel: string) => void): (channel: string) => void {
  const wanted = new Map<string, boolean>();
  return (channel) => {
    if (wanted.has(channel)) return void wanted.set(channel, true);
    wanted.set(channel, false);
    send(channel);
    const later = () => {
      const again = wanted.get(channel);
      wanted.delete(channel);
      if (again) send(channel);
    };
    setTimeout(later, HINT_PAUSE_MS).unref();
  };
}

function asResult<Row>(result: pg.QueryResult): QueryResult<Row> {
  return { rows: result.rows as Row[], rowCount: result.rowCount ?? 0 };
}

async function inTransaction<Result>(
  pool: pg.Pool,
  work: (sql: Pick<Sql, "query">) => Promise<Result>,
): Promise<Result> {
  const client = await pool.connect();
  let broken: Error | undefined;
  // Between two statements nobody else listens: without this an idle connection's error would end the process.
  const onError = (error: Error) => {
    broken = error;
  };
  client.on("error", onError);
  try {
    await client.query("begin isolation level read committed");
    const result = await work({
      query: async <Row>(statement: string, values: readonly unknown[] = []) =>
        asResult<Row>(await client.query(statement, [...values])),
    });
    await client.query("commit");
    return result;
  } catch (error) {
    await client.query("rollback").catch((failure: Error) => {
      broken = failure;
    });
    throw error;
  } finally {
    client.off("error", onError);
    client.release(broken);
  }
}

/** One connection that listens on all wanted channels, and connects again when it is lost. */
class HintListener {
  readonly #url: string;
  readonly #onError: (error: Error) => void;
  readonly #hints = new Map<string, Set<() => void>>();
  #client: pg.Client | undefined;
  #connecting: Promise<void> | undefined;
  #retry: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(url: string, onError: (error: Error) => void) {
    this.#url = url;
    this.#onError = onError;
  }

  async add(channel: string, onHint: () => void): Promise<() => Promise<void>> {
    const known = this.#hints.get(channel);
    if (known) known.add(onHint);
    else {
      this.#hints.set(channel, new Set([onHint]));
      await this.#subscribe(channel);
    }
    return async () => void this.#hints.get(channel)?.delete(onHint);
  }

  async #subscribe(channel: string): Promise<void> {
    this.#connecting ??= this.#connect();
    await this.#connecting;
    await this.#client?.query(`listen ${pg.escapeIdentifier(channel)}`).catch(this.#onError);
  }

  async #connect(): Promise<void> {
    const client = new pg.Client({
      connectionString: this.#url,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      keepAlive: true,
    });
    client.on("error", (error) => this.#lost(error));
    client.on("end", () => this.#lost(undefined));
    client.on("notification", ({ channel }) => {
      for (const onHint of this.#hints.get(channel) ?? []) onHint();
    });
    try {
      await client.connect();
      for (const channel of this.#hints.keys()) await client.query(`listen ${pg.escapeIdentifier(channel)}`);
      this.#client = client;
    } catch (error) {
      this.#lost(error as Error);
    }
  }

  #lost(error: Error | undefined): void {
    if (error) this.#onError(error);
    this.#client = undefined;
    if (this.#closed || this.#retry) return;
    this.#retry = setTimeout(() => {
      this.#retry = undefined;
      this.#connecting = this.#connect();
    }, LISTEN_RETRY_MS);
    this.#retry.unref();
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#retry);
    await this.#client?.end();
  }
}
