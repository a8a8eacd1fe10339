import { Random } from "./random.ts";

/**
 * What the tools are: `act` is sent again when interrupted, `once` is AtMostOnce, `out` is outward and AtMostOnce, `ask`
 * needs an approval.
 */
export type ChaosTool = "act" | "once" | "out" | "ask";

export interface PlannedCall {
  readonly tool: ChaosTool;
  /** Unlike that of any other call. */
  readonly value: string;
  /** What the harness decides about it. */
  readonly verdict?: "Approve" | "Reject";
  /** How long after it was parked, in milliseconds. */
  readonly decideAfterMs?: number;
}

export type PlannedStep =
  /** Several calls together are one step. */
  | { readonly kind: "calls"; readonly calls: readonly PlannedCall[] }
  | { readonly kind: "sleep"; readonly ms: number }
  /** The harness sends it that long after the run was admitted: before, while or after the script waits for it. */
  | { readonly kind: "signal"; readonly name: string; readonly payload: string; readonly sendAfterMs: number };

export interface RunPlan {
  readonly steps: readonly PlannedStep[];
}

/** The script of every run: it does what its input says, and tells what it was told. */
export const CHAOS_SCRIPT = `
import { app } from "rewind:tools";
import { signal, sleep } from "rewind";
export default async function (input: any) {
  const call = async (planned: any): Promise<string> => {
    const args = { value: planned.value, ...(planned.verdict ? { verdict: planned.verdict } : {}) };
    try {
      const result: any = await (app as any)[planned.tool](args);
      return result.arguments.value;
    } catch (error: any) {
      if (error.code === "Rejected") return "rejected";
      if (error.code === "Skipped") return "skipped";
      if (error.outcomeUnknown) return "unknown";
      throw error;
    }
  };
  const told: any[] = [];
  for (const step of input.steps) {
    if (step.kind === "sleep") told.push(await sleep(step.ms + "ms"));
    else if (step.kind === "signal") told.push(await signal(step.name));
    else told.push(await Promise.all(step.calls.map(call)));
  }
  return told.map((item) => item ?? null);
}
`;

const PARALLEL_MAX = 6;

/** The run of that number: the same for the same seed, whatever happened meanwhile. */
export function planRun(seed: number, index: number): RunPlan {
  const random = new Random(seed, 1_000 + index);
  const name = (step: number, call = 0) => `r${index}s${step}c${call}`;
  const planCall = (tool: ChaosTool, value: string): PlannedCall => {
    if (tool !== "ask") return { tool, value };
    // Half of the decisions come at once: that is where they meet the release of the run.
    const decideAfterMs = random.chance(0.5) ? 0 : random.between(0, 2_500);
    return { tool, value, verdict: random.chance(0.75) ? "Approve" : "Reject", decideAfterMs };
  };
  const steps = Array.from({ length: random.between(3, 7) }, (_, step): PlannedStep => {
    const kind = random.weighted({ one: 5, parallel: 3, mixed: 2, ask: 3, sleep: 2, signal: 3 });
    if (kind === "sleep") return { kind, ms: random.pick([50, 1_000, 1_000, 3_000]) };
    if (kind === "signal") {
      return { kind, name: name(step), payload: `p-${name(step)}`, sendAfterMs: random.between(0, 6_000) };
    }
    const tools: ChaosTool[] = [];
    if (kind === "one") tools.push(random.pick(["act", "once"]));
    else if (kind === "ask") tools.push("ask", ...(random.chance(0.3) ? (["act"] as const) : []));
    else if (kind === "mixed") tools.push("act", "out", "out", random.pick(["once", "out"]));
    else for (let count = random.between(2, PARALLEL_MAX); count > 0; count--) tools.push(random.pick(["act", "once"]));
    return { kind: "calls", calls: tools.map((tool, call) => planCall(tool, name(step, call))) };
  });
  return { steps };
}

/** How many calls a plan makes. */
export function plannedCalls(plan: RunPlan): PlannedCall[] {
  return plan.steps.flatMap((step) => (step.kind === "calls" ? step.calls : []));
}

/**
 * Holds a run's result against its plan. Without faults there is one right result; an AtMostOnce call may instead have an
 * unknown outcome, and an outward one be skipped behind it.
 * @returns what is wrong, nothing when it is right
 */
export function judgeResult(plan: RunPlan, resultText: string): string[] {
  const told = JSON.parse(resultText) as unknown[];
  const faults: string[] = [];
  const compare = (where: string, got: unknown, right: readonly unknown[]) => {
    if (!right.includes(got))
      faults.push(`${where} is ${JSON.stringify(got)}, not ${right.map((item) => JSON.stringify(item)).join(" or ")}`);
  };
  compare("the number of results", told.length, [plan.steps.length]);
  for (const [index, step] of plan.steps.entries()) {
    const got = told[index];
    if (step.kind === "sleep") compare(`step ${index}`, got, [null]);
    else if (step.kind === "signal") compare(`step ${index}`, got, [step.payload]);
    else {
      let outwardFailed = false;
      for (const [place, call] of step.calls.entries()) {
        const outcome = (got as unknown[] | undefined)?.[place];
        compare(`step ${index}, call ${call.value} of ${call.tool}`, outcome, rightOutcomes(call, outwardFailed));
        if (call.tool === "out" && outcome !== call.value) outwardFailed = true;
      }
    }
  }
  return faults;
}

function rightOutcomes(call: PlannedCall, outwardFailed: boolean): string[] {
  if (call.verdict === "Reject") return ["rejected"];
  if (call.tool === "act" || call.tool === "ask") return [call.value];
  if (call.tool === "out" && outwardFailed) return ["skipped"];
  return [call.value, "unknown"];
}
