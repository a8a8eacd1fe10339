import { z } from "zod";
import { conditionsField, MESSAGE_LENGTH_MAX, type ParkReason, parkReasons } from "./conditions.ts";
import { anyJson, digest, flag, integer, list, oneOf, optional, text, time } from "./fields.ts";
import { matching, withRules } from "./rules.ts";
import { CALL_ID_PATTERN, DECISION_ACTIONS } from "./run-spec.ts";
import { approversSchema } from "./toolset-policy.ts";

/** Where a Run is. */
export const RUN_PHASES = [
  "Pending",
  "Running",
  "Sleeping",
  "Waiting",
  "Parked",
  "Succeeded",
  "Failed",
  "Cancelled",
] as const;
/** The phases that a Run never leaves. */
export const FINAL_RUN_PHASES = ["Succeeded", "Failed", "Cancelled"] as const satisfies readonly RunPhase[];
/** What a Run in phase Waiting waits for. */
export const WAITING_FOR = ["Signal", "Worker", "Child", "Server", "Step"] as const;
/** Most parked calls that a status lists (semantics 14.4). */
export const PARKED_LISTED_MAX = 50;
/** Longest preview of arguments, in bytes. */
export const PREVIEW_BYTES_MAX = 2_048;

const cut = z.strictObject({
  bytes: integer("Size of the whole as JSON text, in bytes.", 0),
  digest: digest("Digest of the whole."),
});

const parkedCall = z
  .strictObject({
    id: withRules(text("The key of its decision in spec.decisions.", 16), [
      matching(CALL_ID_PATTERN, "not a call's id"),
    ]),
    seq: integer("The call's number in the run, from 1.", 1),
    tool: text("The tool's name with its group.", 256),
    reason: oneOf("What it waits for.", Object.keys(parkReasons) as ParkReason[]),
    message: text("What is asked, for people.", MESSAGE_LENGTH_MAX, 0),
    since: time("When it was parked."),
    arguments: optional(text("Preview of the arguments as JSON text, at most 2 KiB.", PREVIEW_BYTES_MAX, 0)),
    previewCut: optional(flag("True: arguments shows only the beginning, so a decision must carry callDigest.")),
    argumentsBytes: optional(integer("Size of the whole arguments as JSON text, in bytes.", 0)),
    callDigest: digest("Digest over tool, server and the whole arguments: what a decision is about."),
    actions: list("What may be decided.", oneOf("An action.", DECISION_ACTIONS), 3, 1),
    approvers: optional(approversSchema),
    schemaDiff: optional(text("With SchemaChanged: what differs between pin and server.", 4_096, 0)),
    questions: optional(anyJson("With InputRequired: the questions and the schema of their answers.")),
    key: optional(text("The call's idempotency key.", 512)),
  })
  .describe("One call that waits for somebody.");

const calls = z
  .strictObject({
    total: integer("Recorded calls.", 0),
    succeeded: integer("Calls that succeeded.", 0),
    failed: integer("Calls that failed.", 0),
    parked: integer("Calls that wait for somebody.", 0),
    inFlight: integer("Calls that were sent and have no answer yet.", 0),
  })
  .describe("The run's calls, counted.");

const runError = z
  .strictObject({
    code: text("The error's code.", 64),
    message: text("What went wrong, cut at 16 KiB.", MESSAGE_LENGTH_MAX, 0),
    tool: optional(text("The tool whose call failed, with its group.", 256)),
    seq: optional(integer("The number of the call that failed.", 1)),
    line: optional(integer("Line of the script, from 1.", 1)),
    column: optional(integer("Column of the script, from 1.", 1)),
    cut: optional(cut.describe("There only when the message was cut. The whole is in the journal.")),
  })
  .describe("Why the run failed.");

export const runStatusSchema = z
  .strictObject({
    observedGeneration: optional(integer("The generation of the spec that this status is about.", 0)),
    phase: optional(oneOf("Where the run is.", RUN_PHASES)),
    waitingFor: optional(oneOf("With phase Waiting: what for.", WAITING_FOR)),
    reason: optional(
      text("Why the phase is what it is, in one word: a reason of Accepted or Parked, or the error's code.", 64),
    ),
    requester: optional(text("Who created the Run, as admission saw it.", 512)),
    runId: optional(text("The run's id in the journal: the first part of its idempotency keys.", 256)),
    toolsetDigest: optional(digest("The pin it runs with, for its whole life.")),
    calls: optional(calls),
    parked: optional(list("Calls that wait for somebody, the longest waiting first.", parkedCall, PARKED_LISTED_MAX)),
    parkedOmitted: optional(integer("How many more calls are parked than are listed.", 0)),
    conditions: conditionsField(),
    result: optional(anyJson("What the script returned. When cut: the beginning of its JSON text.")),
    resultCut: optional(cut.describe("There only when the result was cut at 16 KiB. The whole is in the journal.")),
    error: optional(runError),
    wakeAt: optional(time("With phase Sleeping: when it goes on.")),
    startedAt: optional(time("When the script first ran.")),
    finishedAt: optional(time("When the run ended.")),
  })
  .describe("What holds now. Written by the controller only.");

export type RunPhase = (typeof RUN_PHASES)[number];
export type RunStatus = z.output<typeof runStatusSchema>;
export type ParkedCall = z.output<typeof parkedCall>;
export type RunCalls = z.output<typeof calls>;
export type RunError = z.output<typeof runError>;
