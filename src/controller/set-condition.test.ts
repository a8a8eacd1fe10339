import { expect, test } from "vitest";
import { cutMessage, mergeConditions } from "./set-condition.ts";

const before = [
  { type: "Ready", status: "True" as const, lastTransitionTime: "2026-01-01T00:00:00Z", reason: "Ready", message: "" },
];
const at = "2026-02-02T00:00:00Z";

test("the time of a condition changes with its status alone", () => {
  const same = mergeConditions(
    before,
    [{ type: "Ready", status: "True", reason: "Other", message: "new words" }],
    2,
    at,
  );
  expect(same).toEqual([
    {
      type: "Ready",
      status: "True",
      observedGeneration: 2,
      lastTransitionTime: "2026-01-01T00:00:00Z",
      reason: "Other",
      message: "new words",
    },
  ]);
  const changed = mergeConditions(before, [{ type: "Ready", status: "False", reason: "Other", message: "" }], 2, at);
  expect(changed[0]?.lastTransitionTime).toBe(at);
});

test("a condition that is no longer stated is gone, a new one begins now", () => {
  expect(mergeConditions(before, [{ type: "Pinned", status: "False", reason: "Pinning", message: "" }], 1, at)).toEqual(
    [
      {
        type: "Pinned",
        status: "False",
        observedGeneration: 1,
        lastTransitionTime: at,
        reason: "Pinning",
        message: "",
      },
    ],
  );
});

test("a long message is cut and says how long it was", () => {
  const cut = cutMessage("x".repeat(10_000));
  expect(cut.length).toBeLessThanOrEqual(2_048);
  expect(cut).toMatch(/… \(10000 in all\)$/);
  expect(cutMessage("short")).toBe("short");
});
