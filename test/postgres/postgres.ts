import { execFile } from "node:child_process";
import { promisify } from "node:util";
import pg from "pg";
import { migrate } from "../../src/journal/migrate.ts";
import { openPostgres } from "../../src/journal/postgres.ts";
import { dispatcherGroupName } from "../../src/journal/roles.ts";
import { freePorts, until } from "../servers/watched-server.ts";
import { ask, startBinaries, type TestPostgres } from "./own-server.ts";
import { choosePostgres, probePostgres } from "./providers.ts";

export type { TestPostgres } from "./own-server.ts";

const run = promisify(execFile);
const START_TIMEOUT_MS = 60_000;
/** The image may have to be pulled. */
const DOCKER_TIMEOUT_MS = 5 * 60_000;
/** Where tests find the server that the global set-up started. */
const URL_VARIABLE = "HOLDPOINT_TEST_POSTGRES_URL";
const TEMPLATE_VARIABLE = "HOLDPOINT_TEST_POSTGRES_TEMPLATE";

export interface PostgresOptions {
  /** On by default: most tests are about what survives. A server that was handed over keeps its own setting. */
  readonly fsync?: boolean;
}

/** Starts a server, by whatever this machine offers. It ends with this process, however that ends. */
export async function startPostgres(options: PostgresOptions = {}): Promise<TestPostgres> {
  const { fsync = true } = options;
  const provider = choosePostgres(probePostgres());
  switch (provider.kind) {
    case "handed":
      return { url: provider.url, stop: cannotStop, start: cannotStop, close: async () => {} };
    case "binaries":
      return await startBinaries(provider.folder, { fsync });
    case "docker":
      return await startContainer(fsync);
  }
}

async function cannotStop(): Promise<void> {
  throw new Error("a server that was handed over is not stopped by a test");
}

/** Only the end of this process by its own `close` removes the container: nothing watches over it. */
async function startContainer(fsync: boolean): Promise<TestPostgres> {
  const [port = 0] = await freePorts(1);
  const docker = async (...args: readonly string[]) =>
    (await run("docker", args, { timeout: DOCKER_TIMEOUT_MS })).stdout;
  const published = ["-p", `127.0.0.1:${port}:5432`, "-e", "POSTGRES_HOST_AUTH_METHOD=trust"];
  const settings = ["-c", "max_connections=200", "-c", `fsync=${fsync ? "on" : "off"}`];
  const id = (await docker("run", "-d", ...published, "postgres:17-alpine", ...settings)).trim();
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  const answers = () =>
    until("Postgres answers", START_TIMEOUT_MS, async () => (await ask(url, "select 1 as one")) === 1);
  const close = async () => void (await docker("rm", "-f", "-v", id));
  try {
    await answers();
  } catch (error) {
    await close();
    throw error;
  }
  return {
    url,
    stop: async (mode) => {
      await docker("kill", "-s", mode === "fast" ? "INT" : "QUIT", id);
      await docker("wait", id);
    },
    start: async () => {
      await docker("start", id);
      await answers();
    },
    close,
  };
}

/**
 * Makes the server known to the test processes, with a migrated database of this run's own that every test file gets a clone of.
 * @returns what removes that database again
 */
export async function publishServer(url: string): Promise<() => Promise<void>> {
  const template = `holdpoint_template_${process.pid}_${Date.now()}`;
  await maintain(url, `create database ${template} encoding 'UTF8' template template0`);
  const sql = openPostgres({ url: withDatabase(url, template), connectionsMax: 1, onConnectionError: () => {} });
  await migrate(sql);
  await sql.close();
  process.env[URL_VARIABLE] = url;
  process.env[TEMPLATE_VARIABLE] = template;
  return async () => {
    delete process.env[URL_VARIABLE];
    delete process.env[TEMPLATE_VARIABLE];
    await maintain(url, `drop database if exists ${template} with (force)`);
  };
}

/** Whether this process, or the one that started it, has published a server. */
export function isServerPublished(): boolean {
  return process.env[URL_VARIABLE] !== undefined;
}

let names = 0;

/** A database of the test's own on the server that the global set-up started, with the journal's schema. */
export async function createDatabase(): Promise<{ url: string; drop: () => Promise<void> }> {
  const server = process.env[URL_VARIABLE];
  const template = process.env[TEMPLATE_VARIABLE];
  if (server === undefined || template === undefined)
    throw new Error("no Postgres server: the test's project needs the global set-up test/postgres/global-setup.ts");
  names += 1;
  const name = `holdpoint_test_${process.pid}_${Date.now()}_${names}`;
  await maintain(server, `create database ${name} template ${template}`);
  return {
    url: withDatabase(server, name),
    drop: async () => {
      await maintain(server, `drop database if exists ${name} with (force)`);
      await maintain(server, dropRolesOf(name));
    },
  };
}

/** Roles belong to the server: without this a server that was handed over would keep those of every test. */
function dropRolesOf(database: string): string {
  const tag = dispatcherGroupName(database).slice(-8);
  return `do $$ declare role text; begin
    for role in select rolname from pg_roles where rolname ~ '^holdpoint_(toolset_[0-9]+|dispatcher)_${tag}$' loop
      execute format('drop role %I', role);
    end loop;
  end $$`;
}

function withDatabase(server: string, name: string): string {
  const url = new URL(server);
  url.pathname = `/${name}`;
  return url.href;
}

async function maintain(url: string, statement: string): Promise<void> {
  const client = new pg.Client(url);
  client.on("error", () => {});
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}
