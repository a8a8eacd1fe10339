#!/usr/bin/env node
import { createServer, type Server } from "node:http";
import { hostname } from "node:os";
import { Command, CommanderError } from "commander";
import { z } from "zod";
import { systemClock } from "../base/clock.ts";
import { newId } from "../base/ids.ts";
import { createLogger, type Logger } from "../base/log.ts";
import { databaseUrlOption, decodeOptions, durationOption, logLevelOption, sayStartFailure } from "../base/options.ts";
import { type Controller, startController } from "../controller/manager.ts";
import { ProcessLauncher } from "../controller/process-launcher.ts";
import { openPostgres } from "../journal/postgres.ts";
import type { Sql } from "../journal/sql.ts";
import { ToolsetAccess } from "../journal/toolset-access.ts";
import { KubeClient } from "../kube/client.ts";
import { loadKubeConfig } from "../kube/connection.ts";
import { EventRecorder } from "../kube/events.ts";
import { KubeObjectStore } from "../kube/kube-store.ts";
import { LeaderElection } from "../kube/leader-election.ts";

const namespaceName = z.string().regex(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/, "must be a namespace's name");

const optionsSchema = z.object({
  database: databaseUrlOption("give --database or HOLDPOINT_DATABASE_URL: the postgres:// URL of the journal"),
  kubeconfig: z.string().min(1).optional(),
  context: z.string().min(1).optional(),
  leaderElect: z.enum(["true", "false"], "must be true or false").transform((text) => text === "true"),
  namespace: namespaceName,
  watchNamespace: namespaceName.optional(),
  lease: durationOption,
  healthPort: z
    .string()
    .regex(/^\d{1,5}$/, "must be a port")
    .transform(Number)
    .refine((port) => port < 65_536, "must be a port")
    .optional(),
  logLevel: logLevelOption,
});
type ControllerSettings = z.output<typeof optionsSchema>;

const CONNECTIONS_MAX = 12;
const GRACE_MS = 25_000;
const STOP_TIMEOUT_MS = 40_000;

function readOptions(): ControllerSettings {
  const command = new Command("holdpoint-controller")
    .description(
      "Brings Toolsets and Runs into the journal, shows what it holds in their status, and starts dispatchers.",
    )
    .option("--database <url>", "postgres:// URL of the journal (better: HOLDPOINT_DATABASE_URL)")
    .option("--kubeconfig <file>", "default: the cluster it runs in, else KUBECONFIG or ~/.kube/config")
    .option("--context <name>", "of the kubeconfig")
    .option("--leader-elect <true|false>", "whether several controllers share the work by a Lease", "true")
    .option("--namespace <name>", "of the Lease", "holdpoint-system")
    .option("--watch-namespace <name>", "only objects of this namespace; all unless set")
    .option("--lease <duration>", "how long others wait for a dispatcher that shows no sign of life", "10s")
    .option("--health-port <port>", "serves /healthz and /readyz")
    .option("--log-level <level>", "debug, info, warn, error or silent", "info")
    .allowExcessArguments(false)
    .exitOverride()
    .parse();
  const given = command.opts<Record<string, string>>();
  return decodeOptions(optionsSchema, { database: process.env["HOLDPOINT_DATABASE_URL"], ...given });
}

/** The cluster that the journal belongs to, by the uid of the namespace that every cluster has and nobody deletes. */
async function clusterUid(client: KubeClient): Promise<string> {
  const namespace = (await client.request({ method: "GET", path: "/api/v1/namespaces/kube-system" })) as unknown as {
    metadata: { uid: string };
  };
  return namespace.metadata.uid;
}

/** /healthz answers while the process lives; /readyz is red while the journal takes no write. */
function serveHealth(port: number, sql: Sql): Server {
  return createServer((request, response) => {
    if (request.url === "/healthz") return void response.writeHead(200).end("ok\n");
    if (request.url !== "/readyz") return void response.writeHead(404).end("no such path\n");
    void sql.query("insert into holdpoint.projections (toolset_id) select 0 where false").then(
      () => response.writeHead(200).end("ok\n"),
      () => response.writeHead(503).end("the journal takes no write\n"),
    );
  }).listen(port);
}

async function main(): Promise<void> {
  const settings = readOptions();
  const log = createLogger("controller", settings.logLevel);
  const sql = openPostgres({
    url: settings.database,
    directUrl: settings.database,
    connectionsMax: CONNECTIONS_MAX,
    onConnectionError: (error) => log.warn({ err: error }, "a connection to the journal was lost"),
  });
  const { kubeconfig, context } = settings;
  const client = new KubeClient(
    loadKubeConfig({
      ...(kubeconfig === undefined ? {} : { kubeconfig }),
      ...(context === undefined ? {} : { context }),
    }),
  );
  const uid = await clusterUid(client);
  const health = settings.healthPort === undefined ? undefined : serveHealth(settings.healthPort, sql);
  const lead = () => startLeading(settings, { client, sql, log, uid });
  const stopLeading = settings.leaderElect ? elect(settings, client, log, lead) : await alone(lead);
  let stopping = false;
  const stop = (signal: string) => {
    if (stopping) return;
    stopping = true;
    log.info({ signal }, "controller stops");
    setTimeout(() => process.exit(1), STOP_TIMEOUT_MS).unref();
    health?.close();
    void stopLeading()
      .then(() => Promise.allSettled([client.close(), sql.close()]))
      .then(() => process.exit(0));
  };
  process.on("SIGTERM", stop).on("SIGINT", stop);
}

interface LeadingParts {
  readonly client: KubeClient;
  readonly sql: Sql;
  readonly log: Logger;
  readonly uid: string;
}

/** Everything that only one controller does at a time. @returns stops it */
async function startLeading(
  settings: ControllerSettings,
  { client, sql, log, uid }: LeadingParts,
): Promise<() => Promise<void>> {
  const instance = `${hostname()}-${newId()}`;
  const access = new ToolsetAccess({ sql, url: settings.database, log });
  const launcher = new ProcessLauncher({
    databaseUrl: (toolsetId) => access.urlFor(toolsetId),
    place: instance,
    leaseMs: settings.lease,
    log,
    logLevel: settings.logLevel,
    graceMs: GRACE_MS,
  });
  const store = new KubeObjectStore({
    client,
    ...(settings.watchNamespace === undefined ? {} : { namespace: settings.watchNamespace }),
    events: new EventRecorder({ client, controller: "holdpoint.dev/controller", instance: instance.slice(0, 128) }),
    onProblem: (problem) => log.warn({ ...problem }, "watching objects: trouble"),
    onHandlerError: (error: unknown) => log.error({ err: error }, "a handler of changes failed"),
  });
  const controller: Controller = await startController({
    store,
    sql,
    launcher,
    clock: systemClock,
    log,
    clusterUid: uid,
    options: { leaseMs: settings.lease },
  });
  log.info({ cluster: uid }, "controller leads");
  return async () => {
    await controller.close();
    await launcher.close();
    await store.close();
  };
}

async function alone(lead: () => Promise<() => Promise<void>>): Promise<() => Promise<void>> {
  return await lead();
}

/** Leads while this process holds the Lease. One that lost it ends: a new process starts with nothing in its head. */
function elect(
  settings: ControllerSettings,
  client: KubeClient,
  log: Logger,
  lead: () => Promise<() => Promise<void>>,
): () => Promise<void> {
  let stopLeading: (() => Promise<void>) | undefined;
  const election = new LeaderElection({
    client,
    namespace: settings.namespace,
    name: "holdpoint-controller",
    identity: `${hostname()}-${process.pid}`,
    onStarted: async (signal) => {
      stopLeading = await lead();
      await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
    },
    onStopped: (why) => {
      if (why === "released") return;
      log.error({ why }, "leadership is lost; this process ends at once and starts anew");
      process.exit(1);
    },
    onProblem: (problem) => log.warn({ err: problem }, "leader election: trouble"),
  });
  void election.start();
  return async () => {
    await stopLeading?.();
    await election.stop();
  };
}

main().catch((error: unknown) => {
  const usage = error instanceof CommanderError ? (error.exitCode === 0 ? 0 : 2) : undefined;
  process.exit(usage ?? sayStartFailure("holdpoint-controller", error));
});
