import { readFileSync } from "node:fs";
import pg from "pg";
import { cpuSeconds } from "./cpu-time.ts";

/** What a Postgres server on this machine has done so far. */
export interface PostgresFigures {
  readonly cpuSeconds: number;
  readonly commits: number;
}

/** Watches a Postgres server, by its process and its own counters. */
export class PostgresWatch {
  readonly #client: pg.Client;
  readonly #pid: number;

  private constructor(client: pg.Client, pid: number) {
    this.#client = client;
    this.#pid = pid;
  }

  static async open(url: string): Promise<PostgresWatch> {
    const client = new pg.Client(url);
    await client.connect();
    const { rows } = await client.query<{ pid: number }>("select pg_backend_pid() as pid");
    // A backend's parent is the server. One on another machine has no process here, and its CPU is not known.
    const status = readFileSync(`/proc/${rows[0]?.pid}/status`, "utf8");
    return new PostgresWatch(client, Number(/^PPid:\s+(\d+)/m.exec(status)?.[1]));
  }

  async figures(): Promise<PostgresFigures> {
    const { rows } = await this.#client.query<{ commits: number }>(
      "select sum(xact_commit)::float8 as commits from pg_stat_database",
    );
    return { cpuSeconds: cpuSeconds(this.#pid), commits: rows[0]?.commits ?? 0 };
  }

  async describe(): Promise<string> {
    const { rows } = await this.#client.query<{ version: string; fsync: string }>(
      "select current_setting('server_version') as version, current_setting('fsync') as fsync",
    );
    return `Postgres ${rows[0]?.version}, fsync ${rows[0]?.fsync}`;
  }

  async createDatabase(name: string): Promise<void> {
    await this.#client.query(`create database ${name} encoding 'UTF8' template template0`);
  }

  async close(): Promise<void> {
    await this.#client.end();
  }
}
