import { userInfo } from "node:os";
import { join } from "node:path";
import { errorCodes, HoldpointError } from "../base/errors.ts";
import { stringifyExact } from "../base/exact-json.ts";
import { createLogger } from "../base/log.ts";
import { visibleLines, visibleText } from "../base/visible-text.ts";
import { sameJson } from "../objects/json-value.ts";
import { MemoryObjectStore } from "../objects/memory-store.ts";
import { StateFolder } from "../objects/state-folder.ts";
import type { ObjectKey, ObjectKind, StoredObject } from "../objects/store.ts";
import { type DevOptions, EXIT } from "./dev-options.ts";
import { DevSession, type NamedObjects, type SessionEnd } from "./dev-session.ts";
import { lockFolder } from "./folder-lock.ts";
import { howToDecide } from "./local-decisions.ts";
import { applyRun, isFinished, planRuns, type RunPlan, replaceRun } from "./local-runs.ts";
import { type LocalManifest, ofKind, readManifests } from "./manifests.ts";
import { ObjectProgress, resultText } from "./object-progress.ts";
import type { Voice } from "./voice.ts";

/** Where the command writes: progress and questions to the voice, results to standard output. */
export interface DevStreams {
  readonly voice: Voice;
  readonly print: (text: string) => void;
}

/**
 * Runs the files' Runs in this process until nothing more happens by itself.
 * @param stop aborted by Ctrl-C: everything is stopped in order, and the same command goes on later
 * @returns the exit code, one of EXIT; errors are told, not thrown
 */
export async function runDev(options: DevOptions, streams: DevStreams, stop: AbortSignal): Promise<number> {
  try {
    const manifests = await readManifests(options.files);
    const lock = await lockFolder(options.stateFolder);
    try {
      return await runLocked(manifests, options, streams, stop);
    } finally {
      await lock.release();
    }
  } catch (error) {
    return explain(error, streams.voice);
  }
}

async function runLocked(
  manifests: readonly LocalManifest[],
  options: DevOptions,
  { voice, print }: DevStreams,
  stop: AbortSignal,
): Promise<number> {
  const log = createLogger("store", options.logLevel);
  const store = await MemoryObjectStore.open({
    folder: new StateFolder(join(options.stateFolder, "objects")),
    onHandlerError: (error) => log.error({ err: error }, "a change could not be handled"),
  });
  try {
    const plans = await planRuns(store, ofKind(manifests, "Run"));
    for (const note of plans.flatMap(({ notes }) => notes)) voice.say(visibleText(note));
    const named: NamedObjects = {
      toolsets: ofKind(manifests, "Toolset").map(({ object }) => keyOf(object)),
      runs: plans.map(({ key, manifest }) => ({ key, file: manifest.file })),
    };
    const done = new Set(plans.filter(isDone).map(({ key }) => key));
    const nothingNew = plans.length > 0 && done.size === plans.length && (await unchanged(store, manifests));
    const end = nothingNew
      ? ({ kind: "finished" } as const)
      : await work({ store, manifests, plans, named, options, voice, stop });
    return await conclude(end, { store, named, done, options, voice, print });
  } finally {
    await store.close();
  }
}

function isDone({ existing, replaces }: RunPlan): boolean {
  return existing !== undefined && !replaces && isFinished(existing);
}

/** Whether the store has all that the files say but for the Runs already. */
async function unchanged(store: MemoryObjectStore, manifests: readonly LocalManifest[]): Promise<boolean> {
  const toolsets = await Promise.all(
    ofKind(manifests, "Toolset").map(async ({ object }) => {
      const known = await store.read("Toolset", keyOf(object));
      return known !== undefined && sameJson(known.spec, object.spec);
    }),
  );
  return toolsets.every(Boolean);
}

interface Work {
  readonly store: MemoryObjectStore;
  readonly manifests: readonly LocalManifest[];
  readonly plans: readonly RunPlan[];
  readonly named: NamedObjects;
  readonly options: DevOptions;
  readonly voice: Voice;
  readonly stop: AbortSignal;
}

const APPLIED_KINDS = ["Secret", "ConfigMap", "Toolset", "Credential"] as const satisfies readonly ObjectKind[];

/** Stores the objects, starts everything, watches, and stops everything. */
async function work({ store, manifests, plans, named, options, voice, stop }: Work): Promise<SessionEnd> {
  const user = userName();
  // Loaded only now: a fault of a manifest, or a run that is done, is told without compiler and database.
  const { openJournal, startLocalWorld } = await import("./local-world.ts");
  const sql = await openJournal(options);
  try {
    for (const kind of APPLIED_KINDS) for (const { object } of ofKind(manifests, kind)) await store.apply(kind, object);
    for (const plan of plans) await applyRun(store, plan, user);
    for (const plan of plans) if (isResumed(plan)) voice.say(`run/${plan.key.name} goes on where it stopped`);
    const session = new DevSession({ store, sql, options, voice, user }, named);
    await session.skipPast();
    const world = await startLocalWorld(store, sql, options);
    try {
      for (const plan of plans) if (plan.replaces) await replaceRun(store, plan, user);
      return await session.watch(stop);
    } finally {
      await world.close();
    }
  } finally {
    await sql.close().catch(() => {});
  }
}

function isResumed({ existing, replaces }: RunPlan): boolean {
  return existing !== undefined && !replaces && existing.status !== undefined && !isFinished(existing);
}

interface Conclusion {
  readonly store: MemoryObjectStore;
  readonly named: NamedObjects;
  readonly done: ReadonlySet<ObjectKey>;
  readonly options: DevOptions;
  readonly voice: Voice;
  readonly print: (text: string) => void;
}

/** Says how it ended, prints what was asked for, and gives the exit code. */
async function conclude(end: SessionEnd, { store, named, done, options, voice, print }: Conclusion): Promise<number> {
  const progress = new ObjectProgress(voice);
  const runs: StoredObject[] = [];
  for (const { key } of named.runs) {
    const run = await store.read("Run", key);
    if (run === undefined) continue;
    runs.push(run);
    if (!isFinished(run)) continue;
    progress.tellEnd(run, done.has(key) || alreadyRan(run));
    const result = resultText(run);
    if (!options.outputJson && result !== undefined) print(process.stdout.isTTY ? visibleLines(result) : result);
  }
  if (options.outputJson) {
    const toolsets = await Promise.all(named.toolsets.map((key) => store.read("Toolset", key)));
    const items = [...toolsets, ...runs].filter((object) => object !== undefined);
    print(stringifyExact({ apiVersion: "v1", kind: "List", items }, 2));
  }
  switch (end.kind) {
    case "unpinned":
      voice.say(voice.colors.red(visibleText(end.message)));
      return EXIT.failed;
    case "waiting":
      for (const line of howToDecide(end.waiting, userName())) voice.say(line);
      return EXIT.waiting;
    case "interrupted":
      voice.say("Stopped in order. The same command goes on from here.");
      return EXIT.interrupted;
    case "finished":
      return runs.every((run) => phaseOf(run) === "Succeeded") ? EXIT.succeeded : EXIT.failed;
  }
}

function alreadyRan(run: StoredObject): boolean {
  const { conditions = [] } = (run.status ?? {}) as { conditions?: readonly { type: string; reason: string }[] };
  return conditions.some(({ type, reason }) => type === "Accepted" && reason === "AlreadyRan");
}

function phaseOf(run: StoredObject): string | undefined {
  return (run.status as { phase?: string } | undefined)?.phase;
}

function keyOf({ metadata: { namespace, name } }: { metadata: ObjectKey }): ObjectKey {
  return { namespace, name };
}

/** The operating system's name of this user; a container without one in its user database has only a number. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return process.env["USER"] ?? `uid-${process.getuid?.() ?? 0}`;
  }
}

const USAGE_CODES: ReadonlySet<string> = new Set(["InvalidManifest", "InvalidOptions", "StateFolderInUse"]);

function explain(error: unknown, { say, colors }: Voice): number {
  if (!(error instanceof HoldpointError)) {
    say(colors.red(visibleLines(error instanceof Error ? (error.stack ?? error.message) : String(error))));
    return EXIT.failed;
  }
  say(colors.red(`${error.code}: ${visibleText(error.message)}`));
  for (const { path, message } of error.faults) say(`  ${visibleText(path)}: ${visibleText(message)}`);
  say(errorCodes[error.code].help);
  return USAGE_CODES.has(error.code) ? EXIT.usage : EXIT.failed;
}
