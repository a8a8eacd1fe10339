import { execFile, execFileSync } from "node:child_process";
import { chownSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import pg from "pg";
import { migrate } from "../../src/journal/migrate.ts";
import { openPostgres } from "../../src/journal/postgres.ts";
import { freePorts, until, type WatchedServer, watchServer } from "../servers/watched-server.ts";
import { choosePostgres, probePostgres } from "./providers.ts";

const run = promisify(execFile);
const START_TIMEOUT_MS = 60_000;
/** Where tests find the server that the global set-up started. */
const URL_VARIABLE = "HOLDPOINT_TEST_POSTGRES_URL";

/** A Postgres server of the tests' own. */
export interface TestPostgres {
  /** URL of its maintenance database. */
  readonly url: string;
  /** `immediate` is a crash: what was not committed is lost, and recovery runs at the next start. */
  stop(mode: "fast" | "immediate"): Promise<void>;
  start(): Promise<void>;
  /** Stops it and removes its data. */
  close(): Promise<void>;
}

/** Starts a server, by whatever this machine offers. With fsync on: the tests are about what survives. */
export async function startPostgres(): Promise<TestPostgres> {
  const provider = choosePostgres(probePostgres());
  if (provider.kind === "handed")
    return { url: provider.url, stop: cannotStop, start: cannotStop, close: async () => {} };
  if (provider.kind === "docker") return await startContainer();
  return await startBinaries(provider.folder);
}

async function cannotStop(): Promise<void> {
  throw new Error("a server that was handed over is not stopped by a test");
}

/** Postgres refuses to run as root: it then runs as the user `postgres`, or as nobody. */
function serverUser(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  for (const user of ["postgres", "nobody"]) {
    try {
      const id = (flag: string) => Number(execFileSync("id", [flag, user], { encoding: "utf8" }));
      return { uid: id("-u"), gid: id("-g") };
    } catch {
      // Not on this machine; the next one is tried.
    }
  }
  throw new Error("Postgres does not run as root, and there is neither a user postgres nor nobody");
}

async function startBinaries(folder: string): Promise<TestPostgres> {
  const user = serverUser();
  const data = mkdtempSync(join(tmpdir(), "holdpoint-postgres-"));
  if (user) chownSync(data, user.uid, user.gid);
  const as = user ? { ...user, cwd: data } : { cwd: data };
  await run(
    join(folder, "initdb"),
    ["-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"],
    as,
  );
  const [port = 0] = await freePorts(1);
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  const settings = [
    `port=${port}`,
    "listen_addresses=127.0.0.1",
    `unix_socket_directories=${data}`,
    "max_connections=200",
  ];
  const command = [join(folder, "postgres"), "-D", data, ...settings.flatMap((setting) => ["-c", setting])];
  let server: WatchedServer | undefined;
  const start = async () => {
    server = watchServer({ command, cwd: data, ...(user ?? {}) });
    await answers(url);
  };
  const stop = async (mode: "fast" | "immediate") => {
    await server?.stop(mode === "fast" ? "SIGINT" : "SIGQUIT");
  };
  await start();
  return {
    url,
    start,
    stop,
    close: async () => {
      await stop("immediate");
      rmSync(data, { recursive: true, force: true });
    },
  };
}

async function startContainer(): Promise<TestPostgres> {
  const [port = 0] = await freePorts(1);
  const published = ["-p", `127.0.0.1:${port}:5432`, "-e", "POSTGRES_HOST_AUTH_METHOD=trust"];
  const { stdout } = await run("docker", [
    "run",
    "-d",
    "--rm",
    ...published,
    "postgres:17-alpine",
    "-c",
    "max_connections=200",
  ]);
  const id = stdout.trim();
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  await answers(url);
  return {
    url,
    stop: async (mode) => void (await run("docker", ["kill", "-s", mode === "fast" ? "INT" : "QUIT", id])),
    start: cannotStop,
    close: async () => void (await run("docker", ["rm", "-f", id])),
  };
}

async function answers(url: string): Promise<void> {
  await until("Postgres answers", START_TIMEOUT_MS, async () => {
    const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 1_000 });
    client.on("error", () => {});
    try {
      await client.connect();
      await client.query("select 1");
      return true;
    } finally {
      await client.end().catch(() => {});
    }
  });
}

/** Migrated once; every test file gets a clone of it. */
const TEMPLATE = "holdpoint_template";

/** Makes the server known to the test processes, with a migrated database to clone. */
export async function publishServer(url: string): Promise<void> {
  await maintain(url, `drop database if exists ${TEMPLATE} with (force)`);
  await maintain(url, `create database ${TEMPLATE} encoding 'UTF8' template template0`);
  const sql = openPostgres({ url: withDatabase(url, TEMPLATE), connectionsMax: 1, onConnectionError: () => {} });
  await migrate(sql);
  await sql.close();
  process.env[URL_VARIABLE] = url;
}

let names = 0;

/** A database of the test's own on the server that the global set-up started, with the journal's schema. */
export async function createDatabase(): Promise<{ url: string; drop: () => Promise<void> }> {
  const server = process.env[URL_VARIABLE];
  if (server === undefined)
    throw new Error("no Postgres server: the test's project needs the global set-up test/postgres/global-setup.ts");
  names += 1;
  const name = `holdpoint_test_${process.pid}_${Date.now()}_${names}`;
  await maintain(server, `create database ${name} template ${TEMPLATE}`);
  return {
    url: withDatabase(server, name),
    drop: () => maintain(server, `drop database if exists ${name} with (force)`),
  };
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
