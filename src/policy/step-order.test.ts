import { expect, test } from "vitest";
import { type StepCall, stepVerdict } from "./step-order.ts";

const call = (seq: number, outward: boolean, progress: StepCall["progress"], step = 1): StepCall => ({
  seq,
  step,
  outward,
  progress,
});

test("calls that act inside go at once, whatever else the step holds [semantics 6.2]", () => {
  const mine = call(2, false, "waiting");
  expect(stepVerdict(mine, [call(1, true, "waiting"), mine])).toBe("go");
});

test.each([
  ["waits for the step's other calls", [call(1, false, "inFlight")], "wait"],
  ["goes when they have settled, also by failing", [call(1, false, "failed")], "go"],
  ["goes when they are parked: parked counts as run", [call(1, false, "parked")], "go"],
  ["waits for the outward call before it", [call(1, true, "inFlight")], "wait"],
  ["waits also while that one is parked", [call(1, true, "parked")], "wait"],
  ["goes when that one succeeded", [call(1, true, "succeeded")], "go"],
  ["is skipped when that one failed", [call(1, true, "failed")], "skip"],
  ["does not mind outward calls after it", [call(9, true, "failed")], "go"],
  ["does not mind another step's", [call(1, true, "failed", 0)], "go"],
] as const)("an outward call %s [semantics 6.2]", (_name, others, verdict) => {
  const mine = call(5, true, "waiting");
  expect(stepVerdict(mine, [...others, mine])).toBe(verdict);
});
