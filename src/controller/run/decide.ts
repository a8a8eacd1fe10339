import type { Decision } from "../../api/run-spec.ts";
import { type Json, stringifyExact } from "../../base/exact-json.ts";
import { type DecideOutcome, decideHold } from "../../journal/holds.ts";
import type { HoldView, RunView } from "../../journal/runs.ts";
import { toolsetChannel } from "../../journal/sql.ts";
import type { RunContext } from "./run-context.ts";

/**
 * Carries the decisions of the spec to the journal. One that names no parked call, or another call than the parked one, is
 * said (`DecisionIgnored`, Event), never dropped in silence (api.md).
 */
export async function decideStep({ view, spec, tools, pass, alreadyRan }: RunContext): Promise<void> {
  if (!view || alreadyRan) return;
  const ignored: string[] = [];
  for (const [id, decision] of Object.entries(spec.decisions ?? {})) {
    if (isCarriedOut(holdOf(view, id), decision)) continue;
    const outcome = await decideHold(tools.sql, view.runId, toJournal(id, decision));
    if (outcome.kind === "taken") {
      tools.log.info({ run: view.runId, call: id, action: decision.action }, "decision taken");
      tools.sql.notify(toolsetChannel(view.toolsetId));
      pass.event("Normal", decision.action, `call ${id}: ${decision.action} by ${decision.by}`);
    }
    const complaint = describe(id, decision, outcome);
    if (complaint) ignored.push(complaint);
  }
  if (ignored.length === 0) return;
  const message = ignored.join("; ");
  pass.condition("DecisionIgnored", "True", "NotParked", message);
  pass.event("Warning", "DecisionIgnored", message);
}

function holdOf(view: RunView, id: string): HoldView | undefined {
  return view.holds.find((hold) => hold.holdId === id);
}

function isCarriedOut(hold: HoldView | undefined, { action, by }: Decision): boolean {
  return hold?.action === action && hold.decidedBy === by;
}

function toJournal(id: string, decision: Decision) {
  const { action, by, reason = "", callDigest, answers } = decision;
  return {
    holdId: id,
    action,
    by,
    reason,
    ...(callDigest === undefined ? {} : { callDigest }),
    ...(answers === undefined ? {} : { answersText: stringifyExact(answers as Json) }),
  };
}

function describe(id: string, { action, by }: Decision, outcome: DecideOutcome): string | undefined {
  const who = `the decision ${action} by ${by} on call ${id}`;
  switch (outcome.kind) {
    case "taken":
    case "repeated":
      return undefined;
    case "decided":
      return `${who} came too late: ${outcome.by} decided ${outcome.action}`;
    case "notParked":
      return `${who} does nothing: no call of that id is parked`;
    case "closed":
      return `${who} came too late: the call is ${outcome.outcome}`;
    case "otherCall":
      return `${who} is about other arguments than those that are parked (${outcome.callDigest})`;
  }
}
