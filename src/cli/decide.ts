import { setTimeout as delay } from "node:timers/promises";
import { labels } from "../api/group.ts";
import { DECISIONS_MAX, type Decision, type DecisionAction } from "../api/run-spec.ts";
import type { ParkedCall } from "../api/run-status.ts";
import { backoffDelayMs } from "../base/backoff.ts";
import type { Json, JsonObject } from "../base/exact-json.ts";
import { visibleText } from "../base/visible-text.ts";
import { CommandFailed } from "./command-failed.ts";
import { type KubeApi, KubeApiError } from "./kube-api.ts";
import { parkedCalls, parkedLines } from "./parked-call.ts";
import { listRuns, patchRun, readRun, type ServedRun, whoAmI } from "./resources.ts";

/** What somebody wants to decide. */
export interface Wish {
  readonly namespace: string;
  readonly run: string;
  /** The parked call's id; without it the only parked call is meant. */
  readonly callId?: string;
  readonly action: DecisionAction;
  readonly reason?: string;
  readonly answers?: Json;
}

/** What stands in the Run now. */
export interface Decided {
  readonly run: ServedRun;
  readonly call: ParkedCall;
  readonly decision: Decision;
  /** The same user had decided the same before: nothing was written. */
  readonly stoodAlready: boolean;
}

/** The plugins' name among a Run's field managers: when a decision was written is read from there. */
export const FIELD_MANAGER = "kubectl-holdpoint";
const TRIES_MAX = 8;
const BACKOFF = { firstMs: 20, maxMs: 1_000, factor: 2 };
/** From so many entries on, those of calls that are no longer parked are removed; the journal keeps all. */
const PRUNE_FROM = DECISIONS_MAX - 10;

/**
 * Writes one decision so that of several deciders exactly one wins: the patch carries the resourceVersion of the Run whose
 * parked call was looked at, and a conflict reads the Run again (semantics 7.9; case c01).
 * @param onCall told, before the write, what the decision is about; told once
 * @throws CommandFailed `NotParked`, `AlreadyDecided`; KubeApiError with the API server's refusal as it is
 */
export async function decide(
  api: KubeApi,
  wish: Wish,
  onCall: (call: ParkedCall, run: ServedRun) => Promise<void>,
): Promise<Decided> {
  const by = await whoAmI(api);
  let shownDigest: string | undefined;
  for (let attempt = 1; ; attempt += 1) {
    const run = await readRun(api, wish.namespace, wish.run);
    const call = await findCall(api, run, wish);
    const standing = run.spec.decisions?.[call.id];
    if (standing !== undefined) return standingDecision(run, call, standing, wish, by);
    if (!call.actions.includes(wish.action)) {
      throw new CommandFailed(
        `call ${call.id} cannot be decided by ${wish.action}: it offers ${call.actions.join(", ")}`,
      );
    }
    if (shownDigest === undefined) await onCall(call, run);
    else if (shownDigest !== call.callDigest)
      throw new CommandFailed(`call ${call.id} changed meanwhile: look at it again`);
    shownDigest = call.callDigest;
    const decision = decisionOf(wish, call, by);
    try {
      return { run: await write(api, run, call.id, decision), call, decision, stoodAlready: false };
    } catch (error) {
      const conflict = error instanceof KubeApiError && error.httpStatus === 409;
      if (!conflict || attempt >= TRIES_MAX) throw error;
      await delay(backoffDelayMs(BACKOFF, attempt, Math.random()));
    }
  }
}

function decisionOf({ action, reason, answers }: Wish, call: ParkedCall, by: string): Decision {
  return {
    action,
    by,
    ...(reason === undefined ? {} : { reason }),
    callDigest: call.callDigest,
    ...(answers === undefined ? {} : { answers }),
  };
}

async function write(api: KubeApi, run: ServedRun, callId: string, decision: Decision): Promise<ServedRun> {
  const { uid, resourceVersion } = run.metadata;
  const decisions: JsonObject = { ...removals(run), [callId]: decision as unknown as JsonObject };
  return await patchRun(api, run, { metadata: { uid, resourceVersion }, spec: { decisions } }, FIELD_MANAGER);
}

/** Nulls for entries whose calls wait no longer, once the map comes near its bound. */
function removals(run: ServedRun): JsonObject {
  const ids = Object.keys(run.spec.decisions ?? {});
  // With calls left out of the list nobody can tell which entries are still needed.
  if (ids.length < PRUNE_FROM || (run.status?.parkedOmitted ?? 0) > 0) return {};
  const parked = new Set(parkedCalls(run).map(({ id }) => id));
  return Object.fromEntries(ids.filter((id) => !parked.has(id)).map((id) => [id, null]));
}

async function findCall(api: KubeApi, run: ServedRun, { callId }: Wish): Promise<ParkedCall> {
  const parked = parkedCalls(run);
  if (callId === undefined) {
    const [only] = parked;
    if (only !== undefined && parked.length === 1 && !run.status?.parkedOmitted) return only;
    throw await notParked(api, run, undefined);
  }
  const call = parked.find(({ id }) => id === callId);
  if (call !== undefined) return call;
  throw await notParked(api, run, callId);
}

async function notParked(api: KubeApi, run: ServedRun, callId: string | undefined): Promise<CommandFailed> {
  const name = run.metadata.name;
  const lines = parkedLines(run);
  const resolved = callId === undefined ? undefined : resolution(run, callId);
  if (resolved !== undefined) return new CommandFailed(resolved, { code: "AlreadyDecided" });
  const subject = callId === undefined ? "" : `call ${visibleText(callId)} of run/${name} is not parked. `;
  if (lines.length > 0) {
    const listed = `${lines.length} parked ${lines.length === 1 ? "call waits" : "calls wait"} in run/${name}:\n${lines.join("\n")}`;
    return new CommandFailed(`${subject}${listed}`, {
      code: "NotParked",
      help: `Name one of them: kubectl approve run/${name} ID`,
    });
  }
  const children = await childrenWithParkedCalls(api, run);
  const phase = run.status?.phase ?? "Pending";
  return new CommandFailed(`${subject}No call of run/${name} is parked (it is ${phase}).${children}`, {
    code: "NotParked",
  });
}

/** How a call that is no longer parked was decided: by the entry that stands, or by its condition. */
function resolution(run: ServedRun, callId: string): string | undefined {
  const standing = run.spec.decisions?.[callId];
  const condition = run.status?.conditions?.find(({ type }) => type === `Parked-${callId}`);
  if (standing !== undefined) return decidedText(run, callId, standing);
  if (condition?.status !== "False") return undefined;
  const { reason, message, lastTransitionTime } = condition;
  return `call ${callId} was resolved at ${lastTransitionTime}: ${reason}, ${visibleText(message)}`;
}

/** A parked call of a child workflow stands on the child only: the parent's owner is sent there (case c05). */
async function childrenWithParkedCalls(api: KubeApi, run: ServedRun): Promise<string> {
  const { namespace, name } = run.metadata;
  const children = await listRuns(api, namespace, `${labels.parent}=${name}`).catch(() => []);
  const waiting = children.flatMap((child) =>
    parkedCalls(child).map((call) => `  run/${child.metadata.name} ${call.id}  ${visibleText(call.tool)}`),
  );
  return waiting.length === 0 ? "" : ` Its child runs wait for:\n${waiting.join("\n")}`;
}

function standingDecision(run: ServedRun, call: ParkedCall, standing: Decision, wish: Wish, by: string): Decided {
  if (standing.by === by && standing.action === wish.action && wish.answers === undefined) {
    return { run, call, decision: standing, stoodAlready: true };
  }
  throw new CommandFailed(decidedText(run, call.id, standing), { code: "AlreadyDecided" });
}

/** Who decided what and when, of an entry that stands. */
export function decidedText(run: ServedRun, callId: string, decision: Decision): string {
  const at = writtenAt(run, callId);
  const why = decision.reason ? `: "${decision.reason}"` : "";
  const done = { Approve: "approved", Reject: "rejected", Answer: "answered" }[decision.action];
  return visibleText(
    `call ${callId} of run/${run.metadata.name} was ${done} by ${decision.by}${at === undefined ? "" : ` at ${at}`}${why}`,
  );
}

/** The API server notes which write set a field, and when. */
function writtenAt(run: ServedRun, callId: string): string | undefined {
  for (const { time, fieldsV1 } of run.metadata.managedFields ?? []) {
    const spec = fieldsV1?.["f:spec"] as JsonObject | undefined;
    const decisions = spec?.["f:decisions"] as JsonObject | undefined;
    if (decisions?.[`f:${callId}`] !== undefined) return time;
  }
  return undefined;
}
