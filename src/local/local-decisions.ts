import type { Decision, RunSpec } from "../api/run-spec.ts";
import type { ParkedCall } from "../api/run-status.ts";
import type { Json } from "../base/exact-json.ts";
import { visibleText } from "../base/visible-text.ts";
import type { MemoryObjectStore } from "../objects/memory-store.ts";
import type { StoredObject } from "../objects/store.ts";

/** Writes a decision into the Run, always with the digest of the call that was shown. One that stands is left alone. */
export async function decideLocally(
  store: MemoryObjectStore,
  run: StoredObject,
  call: ParkedCall,
  decision: Pick<Decision, "action" | "by" | "reason">,
): Promise<void> {
  const { namespace, name } = run.metadata;
  const now = await store.read("Run", { namespace, name });
  if ((now?.spec as RunSpec | undefined)?.decisions?.[call.id] !== undefined) return;
  const entry = { ...decision, callDigest: call.callDigest } as Json;
  await store.patchSpec("Run", { namespace, name }, { decisions: { [call.id]: entry } });
}

/** A run that waits for somebody, and the file that its manifest stands in. */
export interface WaitingRun {
  readonly run: StoredObject;
  readonly file: string;
  readonly waitsFor: "decision" | "signal" | "toolset";
  /** What waits for a decision. */
  readonly parked: readonly ParkedCall[];
}

const WAITS_TEXTS = {
  decision: "a decision, and nothing was approved:",
  signal: "a signal, which nobody can send here.",
  toolset: "its Toolset, which is suspended: set spec.suspend to false, and give the same command again.",
} as const;

/** What to do where nobody can be asked: every parked call, and how it can be decided. */
export function howToDecide(waiting: readonly WaitingRun[], by: string): string[] {
  const lines: string[] = [];
  for (const { run, parked, waitsFor } of waiting) {
    lines.push(`run/${run.metadata.name} waits for ${WAITS_TEXTS[waitsFor]}`);
    for (const call of parked) {
      lines.push(`  call ${call.id}  ${visibleText(call.tool)}  ${call.reason}: ${visibleText(call.message)}`);
      lines.push(
        `    arguments ${visibleText(call.arguments ?? "")}${call.previewCut ? `… (${call.argumentsBytes} bytes in all)` : ""}`,
      );
    }
  }
  const approvable = waiting.flatMap(({ parked }) => parked).filter(({ reason }) => reason === "ApprovalRequired");
  if (approvable.length > 0) lines.push("To approve all that waits: the same command again with --approve all.");
  for (const { run, file, parked } of waiting.filter((each) => each.parked.length > 0)) {
    lines.push(
      `To decide one by one: add this to Run ${run.metadata.name} in ${file}, and give the same command again:`,
    );
    lines.push("  spec:", "    decisions:");
    for (const { id, callDigest } of parked)
      lines.push(
        `      "${id}": {action: Approve, by: ${JSON.stringify(by)}, callDigest: "${callDigest}"}  # or Reject, with a reason`,
      );
  }
  return lines;
}
