import type { RunSpec } from "../api/run-spec.ts";
import type { RunStatus } from "../api/run-status.ts";
import type { Clock } from "../base/clock.ts";
import type { Logger } from "../base/log.ts";
import { claimInstallation, migrate } from "../journal/migrate.ts";
import { dropProjections, readProjections } from "../journal/projections.ts";
import { viewRuns } from "../journal/runs.ts";
import { CONTROLLER_CHANNEL, type Sql } from "../journal/sql.ts";
import { readToolsets } from "../journal/toolsets.ts";
import type { ObjectCache, ObjectKey, ObjectStore } from "../objects/store.ts";
import { WorkQueue } from "../objects/work-queue.ts";
import type { Launcher } from "./launcher.ts";
import { LeaseWatch } from "./lease-watch.ts";
import { cancelOrphanRuns } from "./orphan-runs.ts";
import { type Periodic, startPeriodic } from "./periodic.ts";
import { RunReconciler } from "./run/reconcile-run.ts";
import { Scaling } from "./scaling.ts";
import { ToolsetReconciler } from "./toolset/reconcile-toolset.ts";

export interface ControllerSpec {
  readonly store: ObjectStore;
  readonly sql: Sql;
  readonly launcher: Launcher;
  readonly clock: Clock;
  readonly log: Logger;
  /** Whose journal this is: the uid of the cluster's kube-system namespace, or of the local state folder. */
  readonly clusterUid: string;
  readonly options?: Partial<ControllerOptions>;
}

export interface ControllerOptions {
  /** The dispatchers' lease: one that is not renewed for this long is taken over. */
  readonly leaseMs: number;
  /** Whether an unfinished run of the same name and spec goes on as a new object: locally, where objects may be lost. */
  readonly adoptsUnfinished: boolean;
}

export interface Controller {
  /** Stops every loop; dispatchers go on without it. */
  close(): Promise<void>;
}

const DEFAULTS: ControllerOptions = { leaseMs: 10_000, adoptsUnfinished: false };
const STATUS_POLL_MS = 1_000;
const DEMAND_POLL_MS = 2_000;
const ORPHANS_EVERY_MS = 10 * 60_000;
const PROJECTIONS_MAX = 500;
const CONCURRENCY = 8;
const DRAIN_MS = 10_000;

/** Phases from which a Run that is not in the journal still waits to be brought there. */
const WAITS: ReadonlySet<RunStatus["phase"]> = new Set([undefined, "Pending"]);

/**
 * Starts the controller: the bridge between the objects and the journal. It carries wishes from the objects into the journal
 * and facts back into their status, and keeps as many dispatchers as there is work for. Everything it knows stands in one of
 * the two, so it may be killed at any moment.
 * @throws HoldpointError `JournalOfAnotherCluster`, `JournalEncoding`
 */
export async function startController(spec: ControllerSpec): Promise<Controller> {
  const { store, sql, launcher, clock, log } = spec;
  const options = { ...DEFAULTS, ...spec.options };
  await migrate(sql);
  await claimInstallation(sql, spec.clusterUid);
  const tools = { store, sql, clock, log };
  const queueOf = (kind: string, reconcile: (key: ObjectKey) => ReturnType<RunReconciler["reconcile"]>) =>
    new WorkQueue({
      process: reconcile,
      concurrency: CONCURRENCY,
      onFailure: ({ key, error, failures, retryAfterMs }) =>
        log[failures > 3 ? "warn" : "debug"](
          { err: error, kind, ...key, failures, retryAfterMs },
          "a reconcile failed; it is tried again",
        ),
    });
  const queues: { runs?: WorkQueue; toolsets?: WorkQueue } = {};
  const toolsets = await store.watch("Toolset", (key) => queues.toolsets?.add(key));
  const runs = await store.watch("Run", (key) => queues.runs?.add(key));
  const runReconciler = new RunReconciler({
    tools,
    runs,
    toolsets,
    adoptsUnfinished: options.adoptsUnfinished,
    touchToolset: (namespace, name) => queues.toolsets?.add({ namespace, name }),
  });
  const toolsetReconciler = new ToolsetReconciler({
    tools,
    toolsets,
    launcher,
    touchRuns: (namespace, toolset) => {
      for (const key of waitingRuns(runs, namespace, toolset)) queues.runs?.add(key);
    },
  });
  queues.toolsets = queueOf("Toolset", (key) => toolsetReconciler.reconcile(key));
  queues.runs = queueOf("Run", (key) => runReconciler.reconcile(key));
  for (const { metadata } of toolsets.all()) queues.toolsets.add(metadata);
  for (const { metadata } of runs.all()) queues.runs.add(metadata);
  const loops = startLoops(spec, options, queues);
  const unlisten = await sql.listen(CONTROLLER_CHANNEL, () => {
    for (const loop of loops.hinted) loop.now();
  });
  return {
    close: async () => {
      await unlisten().catch(() => {});
      await Promise.all(loops.all.map((loop) => loop.close()));
      await Promise.all([queues.runs?.close(DRAIN_MS), queues.toolsets?.close(DRAIN_MS)]);
    },
  };
}

interface Queues {
  readonly runs?: WorkQueue;
  readonly toolsets?: WorkQueue;
}

function startLoops(
  spec: ControllerSpec,
  options: ControllerOptions,
  queues: Queues,
): { all: Periodic[]; hinted: Periodic[] } {
  const { sql, store, launcher, clock, log } = spec;
  const scaling = new Scaling(sql, launcher, clock, ({ namespace, name }) => queues.toolsets?.add({ namespace, name }));
  const leases = new LeaseWatch(sql, clock, log, options.leaseMs);
  const statuses = startPeriodic("statuses", STATUS_POLL_MS, log, () => queueProjections(sql, queues));
  const demand = startPeriodic("demand", DEMAND_POLL_MS, log, () => scaling.look());
  const taken = startPeriodic("leases", options.leaseMs / 4, log, () => leases.look());
  const orphans = startPeriodic("orphans", ORPHANS_EVERY_MS, log, () =>
    cancelOrphanRuns(sql, store, log, options.adoptsUnfinished),
  );
  return { all: [statuses, demand, taken, orphans], hinted: [statuses, demand] };
}

/**
 * Queues the objects whose status is to be written. Their entries may go at once: a queued pass that is lost with this
 * process is made again by the next one, which begins by looking at every object.
 */
async function queueProjections(sql: Sql, queues: Queues): Promise<void> {
  for (;;) {
    const queued = await readProjections(sql, PROJECTIONS_MAX);
    if (queued.length === 0) return;
    const views = await viewRuns(
      sql,
      queued.flatMap(({ runId }) => runId ?? []),
    );
    for (const { namespace, name } of views) queues.runs?.add({ namespace, name });
    const finished = new Set(views.flatMap((view) => (view.finishedAtMs === undefined ? [] : [view.toolsetId])));
    const touched = queued.flatMap(({ toolsetId, runId }) =>
      runId === undefined || finished.has(toolsetId) ? [toolsetId] : [],
    );
    for (const { namespace, name } of await readToolsets(sql, [...new Set(touched)]))
      queues.toolsets?.add({ namespace, name });
    await dropProjections(sql, queued);
    if (queued.length < PROJECTIONS_MAX) return;
  }
}

/** Runs of a Toolset that have not begun: they may wait for it. */
function* waitingRuns(runs: ObjectCache, namespace: string, toolset: string): Generator<ObjectKey> {
  for (const { metadata, spec, status } of runs.all()) {
    if (metadata.namespace !== namespace || (spec as RunSpec).toolset.name !== toolset) continue;
    if (WAITS.has((status as RunStatus | undefined)?.phase)) yield metadata;
  }
}
