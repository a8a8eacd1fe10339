import { resolveReasons } from "../../api/conditions.ts";
import { PARKED_LISTED_MAX, type ParkedCall, type RunStatus } from "../../api/run-status.ts";
import { digestText } from "../../base/digest.ts";
import { type Json, parseExact } from "../../base/exact-json.ts";
import type { AcceptanceNote, CallCounts, HoldShown, RunFailure } from "../../journal/documents.ts";
import type { HoldView, RunView } from "../../journal/runs.ts";
import { cutMessage, type StatedCondition } from "../set-condition.ts";

/** Results, errors and messages are cut at this (semantics 14.4). */
const TEXT_BYTES_MAX = 16 * 1024;
/** Resolved calls whose conditions are kept. */
const RESOLVED_SHOWN_MAX = 20;
/** All previews together: with results, errors and conditions a status stays within 256 KiB. */
const PREVIEWS_BYTES_MAX = 96 * 1024;
const CONDITION_MESSAGE_MAX = 700;

/** What status shows of a run, but for its conditions. Pure: the same view gives the same status. */
export function runStatusOf(view: RunView): RunStatus {
  const open = openHolds(view);
  const counts = view.callsText === undefined ? undefined : (JSON.parse(view.callsText) as CallCounts | null);
  const parked = listParked(open);
  const status: Record<string, unknown> = {
    phase: view.phase,
    waitingFor: view.waitingFor,
    reason: reasonOf(view, open),
    requester: view.requester === "" ? undefined : view.requester,
    runId: view.runId,
    toolsetDigest: view.pinDigest,
    calls: counts ? { ...counts, parked: open.length } : undefined,
    parked: parked.length > 0 ? parked : undefined,
    parkedOmitted: open.length > parked.length ? open.length - parked.length : undefined,
    ...resultOf(view.resultText),
    error: errorOf(view.errorText),
    wakeAt: timeText(view.wakeAtMs),
    startedAt: timeText(view.startedAtMs),
    finishedAt: timeText(view.finishedAtMs),
  };
  return Object.fromEntries(Object.entries(status).filter(([, value]) => value !== undefined)) as RunStatus;
}

/** The holds that wait for somebody, in order of their calls. One that was decided is on its way, and still listed. */
export function openHolds(view: RunView): HoldView[] {
  return view.holds.filter((hold) => hold.closedAtMs === undefined && view.finishedAtMs === undefined);
}

function reasonOf(view: RunView, open: readonly HoldView[]): string | undefined {
  if (view.errorText !== undefined) return (JSON.parse(view.errorText) as RunFailure).code;
  return view.phase === "Parked" ? open[0]?.reason : undefined;
}

function listParked(open: readonly HoldView[]): ParkedCall[] {
  let previewBytes = 0;
  return open.slice(0, PARKED_LISTED_MAX).map((hold) => {
    const shown = JSON.parse(hold.shownText) as HoldShown;
    previewBytes += Buffer.byteLength(shown.preview);
    // Without its preview a decision must carry the digest, as for one that was cut.
    const fits = previewBytes <= PREVIEWS_BYTES_MAX;
    return {
      id: hold.holdId,
      seq: hold.seq,
      tool: hold.tool,
      reason: hold.reason as ParkedCall["reason"],
      message: cutMessage(shown.message),
      since: timeText(hold.parkedAtMs) ?? "",
      arguments: fits ? shown.preview : "",
      ...(shown.previewCut || !fits ? { previewCut: true } : {}),
      argumentsBytes: shown.argumentsBytes,
      callDigest: hold.callDigest,
      actions: hold.actions as ParkedCall["actions"],
      ...(shown.approvers === undefined ? {} : { approvers: shown.approvers as NonNullable<ParkedCall["approvers"]> }),
      key: shown.key,
    };
  });
}

/** One condition a parked call: the open ones that are listed, and the last resolved ones. */
export function statedHolds(view: RunView): StatedCondition[] {
  const open = openHolds(view).slice(0, PARKED_LISTED_MAX);
  const closed = view.holds.filter((hold) => hold.closedAtMs !== undefined).slice(0, RESOLVED_SHOWN_MAX);
  return [
    ...open.map((hold): StatedCondition => {
      const { message } = JSON.parse(hold.shownText) as HoldShown;
      return {
        type: `Parked-${hold.holdId}`,
        status: "True",
        reason: hold.reason,
        message: cutMessage(message, CONDITION_MESSAGE_MAX),
      };
    }),
    ...closed.map((hold): StatedCondition => {
      const reason = hold.outcome !== undefined && hold.outcome in resolveReasons ? hold.outcome : "Withdrawn";
      const message = `${hold.tool}: ${reason.toLowerCase()}${hold.outcomeNote ? ` ${hold.outcomeNote}` : ""}`;
      return {
        type: `Parked-${hold.holdId}`,
        status: "False",
        reason,
        message: cutMessage(message, CONDITION_MESSAGE_MAX),
      };
    }),
  ];
}

/** Whether the run was taken, as the condition `Accepted` says it; no reason while nobody has judged its script. */
export function acceptance(view: RunView, alreadyRan: boolean): Omit<StatedCondition, "type"> {
  if (alreadyRan) {
    const message =
      "a run of this namespace, name and spec has ended before; its outcome is shown, and no call is made. A new name runs it again";
    return { status: "True", reason: "AlreadyRan", message };
  }
  const note = view.acceptedNoteText === undefined ? undefined : (JSON.parse(view.acceptedNoteText) as AcceptanceNote);
  if (view.accepted === false)
    return { status: "False", reason: note?.code ?? "ScriptInvalid", message: describeNote(note) };
  return { status: "True", reason: "Accepted", message: describeNote(note) || "the run is in the journal" };
}

function describeNote(note: AcceptanceNote | undefined): string {
  if (!note) return "";
  const lines = note.diagnostics
    .slice(0, 10)
    .map(({ line, column, message }) => `line ${line}, column ${column}: ${message}`);
  const rest = note.diagnostics.length > 10 ? [`and ${note.diagnostics.length - 10} more`] : [];
  const warning = note.code === undefined && lines.length > 0 ? ["warnings:"] : [];
  return [...warning, ...(lines.length > 0 ? lines : [note.message]), ...rest].join("\n");
}

function resultOf(resultText: string | undefined): Pick<RunStatus, "result" | "resultCut"> {
  if (resultText === undefined) return {};
  const bytes = Buffer.byteLength(resultText);
  if (bytes <= TEXT_BYTES_MAX) return { result: parseExact(resultText) as Json };
  return { result: resultText.slice(0, TEXT_BYTES_MAX / 4), resultCut: { bytes, digest: digestText(resultText) } };
}

function errorOf(errorText: string | undefined): RunStatus["error"] {
  if (errorText === undefined) return undefined;
  const { code, message, tool, seq, line, column } = JSON.parse(errorText) as RunFailure;
  const bytes = Buffer.byteLength(message);
  const isCut = bytes > TEXT_BYTES_MAX;
  return {
    code,
    message: isCut ? message.slice(0, TEXT_BYTES_MAX / 4) : message,
    ...(tool === undefined ? {} : { tool }),
    ...(seq === undefined ? {} : { seq }),
    ...(line === undefined ? {} : { line }),
    ...(column === undefined ? {} : { column }),
    ...(isCut ? { cut: { bytes, digest: digestText(message) } } : {}),
  };
}

function timeText(timeMs: number | undefined): string | undefined {
  return timeMs === undefined ? undefined : new Date(timeMs).toISOString().replace(/\.\d{3}Z$/, "Z");
}
