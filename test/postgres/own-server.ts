import { execFile, execFileSync } from "node:child_process";
import { chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import pg from "pg";
import { freePorts, until, type WatchedServer, watchServer } from "../servers/watched-server.ts";

const run = promisify(execFile);
const START_TIMEOUT_MS = 60_000;
const CONNECT_TIMEOUT_MS = 1_000;
const START_TRIES = 3;
const LOG_TAIL_CHARACTERS = 2_000;

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

interface User {
  readonly uid: number;
  readonly gid: number;
}

/**
 * Starts a server from binaries of this machine, with a data folder of its own.
 * @param binaries the folder with `initdb` and `postgres`
 * @throws Error with the end of the server's log
 */
export async function startBinaries(binaries: string, settings: { readonly fsync: boolean }): Promise<TestPostgres> {
  const user = serverUser();
  const folder = mkdtempSync(join(tmpdir(), "holdpoint-postgres-"));
  try {
    // Its owner alone may enter what mkdtemp makes, and the server is another user.
    chmodSync(folder, 0o711);
    const data = await initialise(binaries, folder, user);
    return await startOnFreePort({ program: join(binaries, "postgres"), folder, data, user, fsync: settings.fsync });
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    throw error;
  }
}

/** Postgres refuses to run as root: it then runs as the user `postgres`, or as nobody. */
function serverUser(): User | undefined {
  if (process.getuid?.() !== 0) return undefined;
  for (const user of ["postgres", "nobody"]) {
    try {
      const id = (flag: string) => Number(execFileSync("id", [flag, user], { encoding: "utf8", stdio: "pipe" }));
      return { uid: id("-u"), gid: id("-g") };
    } catch {
      // Not on this machine; the next one is tried.
    }
  }
  throw new Error("Postgres does not run as root, and there is neither a user postgres nor nobody");
}

async function initialise(binaries: string, folder: string, user: User | undefined): Promise<string> {
  const data = join(folder, "data");
  mkdirSync(data, { mode: 0o700 });
  if (user) chownSync(data, user.uid, user.gid);
  const args = ["-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"];
  await run(join(binaries, "initdb"), args, { cwd: data, timeout: START_TIMEOUT_MS, ...user });
  return realpathSync(data);
}

interface Installation {
  readonly program: string;
  readonly folder: string;
  readonly data: string;
  readonly user: User | undefined;
  readonly fsync: boolean;
}

async function startOnFreePort(installation: Installation): Promise<TestPostgres> {
  for (let attempt = 1; ; attempt += 1) {
    const [port = 0] = await freePorts(1);
    const server = new OwnServer(installation, port);
    try {
      await server.start();
      return server;
    } catch (error) {
      // A port that was free a moment ago may be somebody else's now.
      if (attempt < START_TRIES && server.log().includes("Address already in use")) continue;
      throw error;
    }
  }
}

class OwnServer implements TestPostgres {
  readonly url: string;
  readonly #installation: Installation;
  readonly #command: readonly string[];
  readonly #logFile: string;
  #server: WatchedServer | undefined;

  constructor(installation: Installation, port: number) {
    const { program, folder, data, fsync } = installation;
    const settings = {
      port,
      listen_addresses: "127.0.0.1",
      unix_socket_directories: data,
      max_connections: 200,
      fsync: fsync ? "on" : "off",
    };
    const flags = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
    this.url = `postgres://postgres@127.0.0.1:${port}/postgres`;
    this.#installation = installation;
    this.#command = [program, "-D", data, ...flags];
    this.#logFile = join(folder, `${port}.log`);
  }

  async start(): Promise<void> {
    const { data, user } = this.#installation;
    const server = watchServer({ command: this.#command, cwd: data, log: this.#logFile, ...user });
    this.#server = server;
    try {
      await until("Postgres answers, or it ended", START_TIMEOUT_MS, async () => {
        if (!server.running) return true;
        // Somebody else's server may have taken the port: tests must not run on that.
        return (await ask(this.url, "show data_directory")) === data;
      });
      if (!server.running) throw new Error("it ended");
    } catch (error) {
      await server.stop("SIGKILL");
      throw new Error(`Postgres did not start; the end of its log:\n${this.log().slice(-LOG_TAIL_CHARACTERS)}`, {
        cause: error,
      });
    }
  }

  /** What it printed so far. */
  log(): string {
    return existsSync(this.#logFile) ? readFileSync(this.#logFile, "utf8") : "";
  }

  async stop(mode: "fast" | "immediate"): Promise<void> {
    await this.#server?.stop(mode === "fast" ? "SIGINT" : "SIGQUIT");
  }

  async close(): Promise<void> {
    await this.stop("immediate");
    rmSync(this.#installation.folder, { recursive: true, force: true });
  }
}

/** The one value that a statement gives, over a connection of its own. */
export async function ask(url: string, statement: string): Promise<unknown> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: CONNECT_TIMEOUT_MS });
  client.on("error", () => {});
  try {
    await client.connect();
    const { rows } = await client.query<Record<string, unknown>>(statement);
    return Object.values(rows[0] ?? {})[0];
  } finally {
    await client.end().catch(() => {});
  }
}
