import type { DecidedHold } from "../journal/holds.ts";
import type { LiveCall } from "./live-call.ts";

/** What a decision comes to: what is carried out, with the reason of its closed condition; or why it cannot be. */
export type JudgedDecision =
  | { readonly kind: "fits"; readonly action: "Approve"; readonly outcome: "Approved" }
  | { readonly kind: "fits"; readonly action: "Reject"; readonly outcome: "Rejected" }
  | { readonly kind: "fits"; readonly action: "Answer"; readonly outcome: "Answered"; readonly valueText: string }
  | { readonly kind: "misfit"; readonly message: string };

/** Judges a decision by what the call waits for (semantics 5.2, 7.9). An answer in the tool's place must fit its output schema. */
export function judgeDecision({ action, answersText }: DecidedHold, call: LiveCall): JudgedDecision {
  if (action === "Approve") return { kind: "fits", action, outcome: "Approved" };
  if (action === "Reject") return { kind: "fits", action, outcome: "Rejected" };
  if (action !== "Answer" || call.hold?.reason !== "OutcomeUnknown") {
    return { kind: "misfit", message: `${action} does not fit what call ${call.seq} waits for` };
  }
  if (answersText === undefined)
    return { kind: "misfit", message: "the answer carries no answers: they are the tool's result" };
  const faults = call.tool.validateResult(answersText);
  if (faults.length === 0) return { kind: "fits", action, outcome: "Answered", valueText: answersText };
  const lines = faults.map((fault) => `${fault.path || "/"}: ${fault.message}`);
  return { kind: "misfit", message: `the answers do not fit the tool's output schema: ${lines.join("; ")}` };
}

/** Who decided, and why, for conditions and errors. */
export function decisionText(by: string, reason: string): string {
  return reason === "" ? `by ${by}` : `by ${by}: ${reason}`;
}
