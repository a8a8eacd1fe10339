import { canonicalJson } from "../base/canonical-json.ts";
import { parseExact } from "../base/exact-json.ts";
import type { NewHold } from "../journal/append.ts";
import type { HoldShown } from "../journal/documents.ts";
import type { LiveCall } from "./live-call.ts";

const PREVIEW_BYTES_MAX = 2048;

/** The actions that each reason offers (semantics 7, api.md). */
const ACTIONS: Readonly<Record<string, readonly string[]>> = {
  ApprovalRequired: ["Approve", "Reject"],
  OutcomeUnknown: ["Approve", "Reject", "Answer"],
};

/** The id under which a call is parked: its seq, and from the second time on how often (`7`, `7-2`). */
export function nextHoldId(call: LiveCall): string {
  return call.parkings === 0 ? String(call.seq) : `${call.seq}-${call.parkings + 1}`;
}

/** What a parked call puts before whoever decides. */
export function describeHold(call: LiveCall, runId: string, reason: string, message: string): NewHold {
  const text = canonicalJson(parseExact(call.argumentsText));
  const argumentsBytes = Buffer.byteLength(text, "utf8");
  const shown: HoldShown = {
    message,
    preview: cutUtf8(text, PREVIEW_BYTES_MAX),
    previewCut: argumentsBytes > PREVIEW_BYTES_MAX,
    argumentsBytes,
    key: `${runId}/${call.seq}`,
    ...(call.tool.policy.approvers === undefined ? {} : { approvers: call.tool.policy.approvers }),
  };
  return {
    holdId: nextHoldId(call),
    seq: call.seq,
    tool: call.tool.fullName,
    reason,
    actions: ACTIONS[reason] ?? ["Approve", "Reject"],
    callDigest: call.digest,
    shownText: JSON.stringify(shown),
  };
}

/** Cuts at a whole character. */
function cutUtf8(text: string, bytesMax: number): string {
  const bytes = Buffer.from(text, "utf8");
  if (bytes.length <= bytesMax) return text;
  let end = bytesMax;
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return bytes.subarray(0, end).toString("utf8");
}
