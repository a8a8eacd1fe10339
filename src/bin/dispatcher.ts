#!/usr/bin/env node
import { z } from "zod";
import { systemClock } from "../base/clock.ts";
import { createLogger, type Logger } from "../base/log.ts";
import { databaseUrlOption, decodeOptions, durationOption, logLevelOption, sayStartFailure } from "../base/options.ts";
import { type Dispatcher, startDispatcher } from "../dispatcher/dispatcher.ts";
import { openPostgres } from "../journal/postgres.ts";
import type { Sql } from "../journal/sql.ts";
import { createSandboxPool } from "../sandbox/pool.ts";
import { createScriptChecker } from "../typecheck/checker.ts";

/** What a dispatcher is told: where the journal is and which Toolset it serves. Everything else stands in the journal. */
const optionsSchema = z.object({
  HOLDPOINT_DATABASE_URL: databaseUrlOption("must be the postgres:// URL of the journal"),
  HOLDPOINT_DATABASE_DIRECT_URL: databaseUrlOption("must be a postgres:// URL").optional(),
  HOLDPOINT_TOOLSET_ID: z
    .string("must be the Toolset's number in the journal")
    .regex(/^\d{1,15}$/, "must be a number")
    .transform(Number),
  HOLDPOINT_PLACE: z.string("must name this pod or process uniquely").min(1).max(253),
  HOLDPOINT_LOG_LEVEL: logLevelOption.default("info"),
  HOLDPOINT_EXIT_WITH_PARENT: z.enum(["0", "1"], "must be 0 or 1").default("0"),
  HOLDPOINT_LEASE: durationOption.optional(),
  HOLDPOINT_GRACE: durationOption.optional(),
  HOLDPOINT_RUNS_PER_REPLICA: z
    .string()
    .regex(/^[1-9]\d{0,4}$/, "must be a number from 1 to 99999")
    .transform(Number)
    .optional(),
  /** For tests only, that interrupt calls without end: sends in all under Retry. */
  HOLDPOINT_TEST_ATTEMPTS_MAX: z
    .string()
    .regex(/^[1-9]\d{0,6}$/, "must be a number from 1 to 9999999")
    .transform(Number)
    .optional(),
});

const CONNECTIONS_MAX = 6;
const CLOSE_TIMEOUT_MS = 2_000;

function stopOnSignals(log: Logger, stop: () => Promise<void>, exitWithParent: boolean): void {
  let stopping = false;
  const begin = (reason: string) => {
    if (stopping) return;
    stopping = true;
    log.info({ reason }, "dispatcher stops: calls in flight may end, nothing new begins");
    void stop().then(
      () => process.exit(0),
      (error: unknown) => {
        log.error({ err: error }, "dispatcher did not stop in order");
        process.exit(1);
      },
    );
  };
  process.on("SIGTERM", () => begin("SIGTERM"));
  process.on("SIGINT", () => begin("SIGINT"));
  if (!exitWithParent) return;
  // The parent holds our standard input: when it is gone, so are we, at once, as if killed.
  process.stdin
    .on("end", () => process.exit(1))
    .on("error", () => process.exit(1))
    .resume();
}

async function main(): Promise<void> {
  const options = decodeOptions(optionsSchema, process.env);
  const log = createLogger("dispatcher", options.HOLDPOINT_LOG_LEVEL);
  const sql: Sql = openPostgres({
    url: options.HOLDPOINT_DATABASE_URL,
    directUrl: options.HOLDPOINT_DATABASE_DIRECT_URL ?? options.HOLDPOINT_DATABASE_URL,
    connectionsMax: CONNECTIONS_MAX,
    onConnectionError: (error) => log.warn({ err: error }, "a connection to the journal was lost"),
  });
  const sandbox = createSandboxPool();
  const checker = createScriptChecker();
  const dispatcher: Dispatcher = await startDispatcher({
    sql,
    toolsetId: options.HOLDPOINT_TOOLSET_ID,
    place: options.HOLDPOINT_PLACE,
    clock: systemClock,
    log,
    sandbox,
    checker,
    ...(options.HOLDPOINT_TEST_ATTEMPTS_MAX === undefined ? {} : { attemptsMax: options.HOLDPOINT_TEST_ATTEMPTS_MAX }),
    options: {
      ...(options.HOLDPOINT_LEASE === undefined ? {} : { leaseMs: options.HOLDPOINT_LEASE }),
      ...(options.HOLDPOINT_GRACE === undefined ? {} : { graceMs: options.HOLDPOINT_GRACE }),
      ...(options.HOLDPOINT_RUNS_PER_REPLICA === undefined ? {} : { runsMax: options.HOLDPOINT_RUNS_PER_REPLICA }),
    },
  });
  const stop = async () => {
    await dispatcher.close();
    log.info("dispatcher has given everything back");
    // Nothing that counts is left: what does not close by itself ends with the process.
    const closed = Promise.allSettled([sandbox.close(), checker.close(), sql.close()]);
    await Promise.race([closed, new Promise((resolve) => setTimeout(resolve, CLOSE_TIMEOUT_MS))]);
  };
  stopOnSignals(log, stop, options.HOLDPOINT_EXIT_WITH_PARENT === "1");
}

main().catch((error: unknown) => process.exit(sayStartFailure("holdpoint-dispatcher", error)));
