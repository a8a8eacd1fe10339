import { randomInt } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { annotations } from "../api/group.ts";
import { type Decision, MUTABLE_RUN_FIELDS, type RunSpec } from "../api/run-spec.ts";
import { FINAL_RUN_PHASES, type ParkedCall, type RunStatus } from "../api/run-status.ts";
import { type Fault, HoldpointError } from "../base/errors.ts";
import type { JsonObject } from "../base/exact-json.ts";
import { visibleText } from "../base/visible-text.ts";
import type { MemoryObjectStore } from "../objects/memory-store.ts";
import type { ObjectKey, StoredObject } from "../objects/store.ts";
import type { LocalManifest } from "./manifests.ts";

/** What is to be done with one Run of the files, found out before anything is stored. */
export interface RunPlan {
  readonly key: ObjectKey;
  readonly manifest: LocalManifest;
  /** The object of that name that is there. */
  readonly existing: StoredObject | undefined;
  /** True: `existing` is another spec's run, and makes room for this one. */
  readonly replaces: boolean;
  /** Decisions of the file on calls that are parked now and undecided. */
  readonly decisions: Readonly<Record<string, Decision>>;
  /** What the user should know about decisions that are not taken. */
  readonly notes: readonly string[];
}

/**
 * Compares the files' Runs with the state folder. The same namespace, name and spec is the same run; another spec is a new
 * one. Decisions are held against the parked calls as the cluster's admission would.
 * @throws HoldpointError `InvalidManifest` when a decision would be refused; nothing was stored
 */
export async function planRuns(store: MemoryObjectStore, manifests: readonly LocalManifest[]): Promise<RunPlan[]> {
  const faults: Fault[] = [];
  const plans: RunPlan[] = [];
  for (const manifest of manifests) {
    const name = await nameOf(store, manifest);
    const key = { namespace: manifest.object.metadata.namespace, name };
    const existing = await store.read("Run", key);
    const replaces = existing !== undefined && !sameRun(existing.spec, manifest.object.spec);
    const judged = judgeDecisions(manifest, replaces ? undefined : existing);
    faults.push(...judged.faults.map(({ path, message }) => ({ path: `${manifest.place} ${path}`, message })));
    plans.push({ key, manifest, existing, replaces, decisions: judged.taken, notes: judged.notes });
  }
  if (faults.length === 0) return plans;
  throw new HoldpointError("InvalidManifest", "the decisions are refused, and nothing was stored", { faults });
}

/** Carries one plan out, but for a Run that makes room: that needs the controller, which lets go of it. */
export async function applyRun(store: MemoryObjectStore, plan: RunPlan, requester: string): Promise<void> {
  const { key, manifest, existing, replaces, decisions } = plan;
  if (replaces) return;
  if (existing === undefined) return createRun(store, manifest, key, requester);
  const { cancel = null, ttlAfterFinished = null } = manifest.object.spec as RunSpec;
  const patch: JsonObject = { decisions: decisions as unknown as JsonObject, ttlAfterFinished };
  // A cancellation is for good: a manifest that no longer asks for it does not take it back.
  await store.patchSpec("Run", key, cancel === true ? { ...patch, cancel } : patch);
}

const REPLACE_TIMEOUT_MS = 10_000;

/** Deletes the run of another spec, waits until it is gone, and creates the new one. @throws Error past the deadline */
export async function replaceRun(store: MemoryObjectStore, plan: RunPlan, requester: string): Promise<void> {
  const { key, existing, manifest } = plan;
  await store.delete("Run", key, existing?.metadata.uid);
  const deadlineMs = performance.now() + REPLACE_TIMEOUT_MS;
  while ((await store.read("Run", key)) !== undefined) {
    if (performance.now() > deadlineMs) throw new Error(`the earlier run/${key.name} is not cancelled yet: try again`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  await createRun(store, manifest, key, requester);
}

async function createRun(
  store: MemoryObjectStore,
  { object }: LocalManifest,
  { namespace, name }: ObjectKey,
  requester: string,
): Promise<void> {
  const { decisions: _, ...spec } = object.spec as RunSpec;
  const { labels, annotations: given } = object.metadata;
  const metadata = { namespace, name, annotations: { ...given, [annotations.requester]: requester } };
  await store.create("Run", { metadata: labels === undefined ? metadata : { ...metadata, labels }, spec });
}

/** Whether two specs are one run's: all but what may change (semantics 14.5). */
function sameRun(left: unknown, right: unknown): boolean {
  return isDeepStrictEqual(fixed(left), fixed(right));
}

function fixed(spec: unknown): Record<string, unknown> {
  const entries = Object.entries(spec as Record<string, unknown>);
  return Object.fromEntries(entries.filter(([name]) => !(MUTABLE_RUN_FIELDS as readonly string[]).includes(name)));
}

/** A generated name is that of the unfinished run it began, if there is one, so that the same command goes on with it. */
async function nameOf(store: MemoryObjectStore, { object, generateName }: LocalManifest): Promise<string> {
  const { name, namespace } = object.metadata;
  if (generateName === undefined) return name;
  const begun = (await store.list("Run", namespace)).find(
    (run) => run.metadata.name.startsWith(generateName) && !isFinished(run) && sameRun(run.spec, object.spec),
  );
  return (
    begun?.metadata.name ??
    `${generateName}${randomInt(36 ** 5)
      .toString(36)
      .padStart(5, "0")}`
  );
}

/** Whether the Run has come to its end. */
export function isFinished(run: StoredObject): boolean {
  return (FINAL_RUN_PHASES as readonly unknown[]).includes((run.status as RunStatus | undefined)?.phase);
}

interface JudgedDecisions {
  readonly taken: Record<string, Decision>;
  readonly faults: Fault[];
  readonly notes: string[];
}

function judgeDecisions({ object }: LocalManifest, existing: StoredObject | undefined): JudgedDecisions {
  const judged: JudgedDecisions = { taken: {}, faults: [], notes: [] };
  const standing = (existing?.spec as RunSpec | undefined)?.decisions ?? {};
  const parked = (existing?.status as RunStatus | undefined)?.parked ?? [];
  for (const [id, decision] of Object.entries((object.spec as RunSpec).decisions ?? {})) {
    const stands = standing[id];
    if (stands !== undefined) {
      if (stands.action !== decision.action)
        judged.notes.push(`call ${id} was decided already: ${stands.action} by ${visibleText(stands.by)}`);
      continue;
    }
    const call = parked.find((each) => each.id === id);
    if (call === undefined) judged.notes.push(notParkedNote(id, parked));
    else {
      const fault = refusal(call, decision);
      if (fault === undefined) judged.taken[id] = decision;
      else judged.faults.push({ path: `spec.decisions.${id}`, message: fault });
    }
  }
  return judged;
}

function notParkedNote(id: string, parked: readonly ParkedCall[]): string {
  const listed = parked.map((call) => call.id).join(", ");
  return `the decision on call ${id} is not taken: it is not parked now (${listed === "" ? "nothing is" : `parked: ${listed}`})`;
}

/** What admission would say of the decision (semantics 7.9). */
function refusal(call: ParkedCall, { action, callDigest }: Decision): string | undefined {
  if (!call.actions.includes(action)) return `the call offers ${call.actions.join(", ")}, not ${action}`;
  if (callDigest !== undefined && callDigest !== call.callDigest)
    return `callDigest is not the parked call's, ${call.callDigest}`;
  if (callDigest === undefined && call.previewCut)
    return `the preview was cut, so the decision must carry callDigest: ${call.callDigest}`;
  return undefined;
}
