import { wholeCallText } from "../api/whole-call.ts";
import { digestText } from "../base/digest.ts";
import { parseExact } from "../base/exact-json.ts";
import type { StepCall } from "../policy/step-order.ts";
import type { Command } from "../sandbox/port.ts";
import type { RecordedCall } from "./history.ts";
import type { CallableTool } from "./pinned-world.ts";

/** A call of a run that this process drives, until it is settled. */
export interface LiveCall {
  readonly ref: number;
  readonly seq: number;
  readonly step: number;
  readonly tool: CallableTool;
  readonly argumentsText: string;
  /** Over tool, server and the whole canonical arguments (semantics 7.9). */
  readonly digest: string;
  /** Whether the log holds it already. */
  recorded: boolean;
  state: "waiting" | "inFlight" | "parked" | "settled";
  succeeded: boolean;
  /** Sends so far; those that certainly did not arrive do not count. */
  attempts: number;
  approved: boolean;
  parkings: number;
  /** Under which id and for which reason it is parked. */
  hold: { readonly id: string; readonly reason: string } | undefined;
  /** Not to be sent before this, by the database's clock. */
  notBeforeMs: number;
  unreachableSinceMs: number | undefined;
  /** Failures in a row to reach the server, for the growing pause. */
  unreachableTries: number;
  abort: AbortController | undefined;
}

/** The digest by which people approve a call: over the tool, its server and the whole canonical arguments. */
export function callDigest(tool: CallableTool, argumentsText: string): string {
  return digestText(wholeCallText(tool.fullName, tool.server.url, parseExact(argumentsText)));
}

/** A call that the script has just issued. */
export function newCall(
  command: Extract<Command, { kind: "call" }>,
  tool: CallableTool,
  seq: number,
  step: number,
): LiveCall {
  return {
    ref: command.ref,
    seq,
    step,
    tool,
    argumentsText: command.argumentsText,
    digest: callDigest(tool, command.argumentsText),
    recorded: false,
    state: "waiting",
    succeeded: false,
    attempts: 0,
    approved: false,
    parkings: 0,
    hold: undefined,
    notBeforeMs: 0,
    unreachableSinceMs: undefined,
    unreachableTries: 0,
    abort: undefined,
  };
}

/** A call that the log holds and that is not settled. In doubt it counts as waiting here: recovery decides what becomes of it. */
export function recalledCall(recorded: RecordedCall, tool: CallableTool): LiveCall {
  return {
    ref: recorded.ref,
    seq: recorded.seq,
    step: recorded.step,
    tool,
    argumentsText: recorded.argumentsText,
    digest: recorded.digest,
    recorded: true,
    state: recorded.state.kind === "parked" ? "parked" : recorded.state.kind === "settled" ? "settled" : "waiting",
    succeeded: false,
    attempts: recorded.attempts,
    approved: recorded.approved,
    parkings: recorded.parkings,
    hold: recorded.state.kind === "parked" ? { id: recorded.state.holdId, reason: recorded.state.reason } : undefined,
    notBeforeMs: recorded.state.kind === "waiting" ? recorded.state.notBeforeMs : 0,
    unreachableSinceMs: recorded.unreachableSinceMs,
    unreachableTries: recorded.unreachableSinceMs === undefined ? 0 : 1,
    abort: undefined,
  };
}

/** The call as the order of its step sees it. */
export function stepCall(call: LiveCall): StepCall {
  return {
    seq: call.seq,
    step: call.step,
    outward: call.tool.policy.retention === "Outward",
    progress: call.state === "settled" ? (call.succeeded ? "succeeded" : "failed") : call.state,
  };
}
