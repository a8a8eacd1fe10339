import { join } from "node:path";
import { systemClock } from "../base/clock.ts";
import { digestText } from "../base/digest.ts";
import { createLogger, type Logger } from "../base/log.ts";
import { startController } from "../controller/manager.ts";
import { startDispatcher } from "../dispatcher/dispatcher.ts";
import { migrate } from "../journal/migrate.ts";
import { openPglite } from "../journal/pglite.ts";
import { openPostgres } from "../journal/postgres.ts";
import type { Sql } from "../journal/sql.ts";
import type { ObjectStore } from "../objects/store.ts";
import { createSandboxPool } from "../sandbox/pool.ts";
import { createScriptChecker } from "../typecheck/checker.ts";
import type { DevOptions } from "./dev-options.ts";
import { InProcessLauncher } from "./in-process-launcher.ts";
import { localInstallation } from "./installation.ts";

/** Controller, dispatchers and journal in this process. */
export interface LocalWorld {
  readonly sql: Sql;
  /** Stops in order: calls in flight may end, runs are given back. */
  close(): Promise<void>;
}

const CONNECTIONS_MAX = 6;
/** Somebody waits at the terminal: what is in flight longer than this is left to the next start. */
const GRACE_MS = 5_000;
const CLOSE_STEP_TIMEOUT_MS = 15_000;

/** Opens the journal, in the state folder or at the URL, with its schema brought up to date. */
export async function openJournal(options: DevOptions): Promise<Sql> {
  const log = createLogger("journal", options.logLevel);
  const url = options.databaseUrl;
  const onConnectionError = (error: Error) => log.warn({ err: error }, "a connection to the journal was lost");
  const sql =
    url === undefined
      ? await openPglite(join(options.stateFolder, "journal"))
      : openPostgres({ url, directUrl: url, connectionsMax: CONNECTIONS_MAX, onConnectionError });
  try {
    await migrate(sql);
    return sql;
  } catch (error) {
    await sql.close().catch(() => {});
    throw error;
  }
}

/** Starts everything on a store and a journal; dispatchers start when there is work for them. */
export async function startLocalWorld(store: ObjectStore, sql: Sql, options: DevOptions): Promise<LocalWorld> {
  const log = (part: string): Logger => createLogger(part, options.logLevel);
  const clusterUid = await localInstallation(options.stateFolder, sql);
  const sandbox = createSandboxPool();
  const checker = createScriptChecker();
  // The state folder is held by this process alone, so whoever was in the same place before is dead.
  const place = `local-${digestText(clusterUid).slice(7, 23)}`;
  const launcher = new InProcessLauncher(({ toolsetId }) =>
    startDispatcher({
      sql,
      toolsetId,
      place,
      clock: systemClock,
      log: log("dispatcher"),
      sandbox,
      checker,
      options: { graceMs: GRACE_MS },
    }),
  );
  const controller = await startController({
    store,
    sql,
    launcher,
    clock: systemClock,
    log: log("controller"),
    clusterUid,
    // Objects may be lost here with their folder; the runs in a journal elsewhere go on as new objects.
    options: { adoptsUnfinished: true },
  });
  const steps = [controller, launcher, sandbox, checker];
  return {
    sql,
    close: async () => {
      for (const step of steps) await withinDeadline(step.close());
    },
  };
}

/** An end that hangs must not keep the process: all that counts is in the journal already. */
async function withinDeadline(work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const deadline = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, CLOSE_STEP_TIMEOUT_MS);
  });
  await Promise.race([work.catch(() => {}), deadline]);
  clearTimeout(timer);
}
