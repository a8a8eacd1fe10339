import { expect, test } from "vitest";
import { runStatusSchema } from "../../api/run-status.ts";
import { stringifyExact } from "../../base/exact-json.ts";
import type { HoldView, RunView } from "../../journal/runs.ts";
import { mergeConditions } from "../set-condition.ts";
import { acceptance, runStatusOf, statedHolds } from "./run-status.ts";

const DIGEST = `sha256:${"0".repeat(64)}`;

const view = (changes: Partial<RunView> = {}): RunView => ({
  toolsetId: 1,
  runId: "01a22ec3-060f-7740-a913-401d431a005a",
  namespace: "agents",
  name: "r",
  uid: "u",
  pinDigest: DIGEST,
  requester: "bob",
  phase: "Running",
  admittedAtMs: 0,
  startedAtMs: 0,
  holds: [],
  ...changes,
});

const hold = (seq: number, changes: Partial<HoldView> = {}): HoldView => ({
  holdId: String(seq),
  seq,
  tool: "sh.run",
  reason: "ApprovalRequired",
  actions: ["Approve", "Reject"],
  callDigest: DIGEST,
  shownText: JSON.stringify({
    message: "asks",
    preview: '{"x":1}',
    previewCut: false,
    argumentsBytes: 7,
    key: `k/${seq}`,
  }),
  parkedAtMs: 1_000,
  ...changes,
});

/** What would be written: it must fit the schema that the API server enforces, and its bound. */
function written(run: RunView): { status: ReturnType<typeof runStatusOf>; bytes: number } {
  const status = runStatusOf(run);
  const conditions = mergeConditions([], statedHolds(run), 1, "2026-01-01T00:00:00Z");
  const whole = { ...status, conditions };
  expect(runStatusSchema.safeParse(whole).error?.issues).toBeUndefined();
  return { status, bytes: Buffer.byteLength(stringifyExact(whole)) };
}

test("a parked call is shown with all that a decision needs", () => {
  const { status } = written(
    view({
      phase: "Parked",
      holds: [hold(7)],
      callsText: '{"total":7,"succeeded":6,"failed":0,"parked":1,"inFlight":0}',
    }),
  );
  expect(status).toMatchObject({ phase: "Parked", reason: "ApprovalRequired", calls: { total: 7, parked: 1 } });
  expect(status.parked).toEqual([
    {
      id: "7",
      seq: 7,
      tool: "sh.run",
      reason: "ApprovalRequired",
      message: "asks",
      since: "1970-01-01T00:00:01Z",
      arguments: '{"x":1}',
      argumentsBytes: 7,
      callDigest: DIGEST,
      actions: ["Approve", "Reject"],
      key: "k/7",
    },
  ]);
});

test("900 parked calls with full previews: 50 are listed, the rest is counted, and the status stays small [case e01]", () => {
  const shownText = JSON.stringify({
    message: "m".repeat(5_000),
    preview: "é".repeat(1_024),
    previewCut: true,
    argumentsBytes: 9_999,
    key: "k",
  });
  const { status, bytes } = written(
    view({ phase: "Parked", holds: Array.from({ length: 900 }, (_, index) => hold(index + 1, { shownText })) }),
  );
  expect(status.parked).toHaveLength(50);
  expect(status.parkedOmitted).toBe(850);
  expect(bytes).toBeLessThan(256 * 1024);
});

test("a call whose preview did not fit must be decided with its digest [case c07, e01]", () => {
  const shownText = JSON.stringify({
    message: "m",
    preview: "x".repeat(2_048),
    previewCut: false,
    argumentsBytes: 2_048,
    key: "k",
  });
  const { status } = written(
    view({ phase: "Parked", holds: Array.from({ length: 50 }, (_, index) => hold(index + 1, { shownText })) }),
  );
  expect(status.parked?.[0]).toMatchObject({ arguments: "x".repeat(2_048) });
  expect(status.parked?.[0]?.previewCut).toBeUndefined();
  expect(status.parked?.[49]).toMatchObject({ arguments: "", previewCut: true });
});

test("a result of two million characters is cut, with its size and digest [case e01]", () => {
  const { status, bytes } = written(
    view({ phase: "Succeeded", finishedAtMs: 1, resultText: JSON.stringify("x".repeat(2_000_000)) }),
  );
  expect(status.resultCut).toEqual({ bytes: 2_000_002, digest: expect.stringMatching(/^sha256:/) });
  expect(bytes).toBeLessThan(40_000);
});

test("an error message of three megabytes is cut as well [case e01]", () => {
  const errorText = JSON.stringify({ code: "ScriptThrew", message: "é".repeat(1_500_000), line: 3, column: 9 });
  const { status, bytes } = written(view({ phase: "Failed", finishedAtMs: 1, errorText }));
  expect(status.error).toMatchObject({ code: "ScriptThrew", line: 3, column: 9, cut: { bytes: 3_000_000 } });
  expect(bytes).toBeLessThan(40_000);
});

test("a small result is shown as it is, integers exact [case a07]", () => {
  expect(
    written(view({ phase: "Succeeded", finishedAtMs: 1, resultText: '{"id":9007199254740993}' })).status.result,
  ).toEqual({ id: 9007199254740993n });
});

test("the last 20 resolved calls keep their condition, with who and why", () => {
  const closed = Array.from({ length: 30 }, (_, index) =>
    hold(index + 1, { closedAtMs: 100 - index, outcome: "Rejected", outcomeNote: "by ann: no" }),
  );
  const stated = statedHolds(view({ holds: [hold(99), ...closed] }));
  expect(stated).toHaveLength(21);
  expect(stated[1]).toEqual({
    type: "Parked-1",
    status: "False",
    reason: "Rejected",
    message: "sh.run: rejected by ann: no",
  });
});

test("a script that was refused says each finding with its place", () => {
  const acceptedNoteText = JSON.stringify({
    code: "ScriptInvalid",
    message: "",
    diagnostics: [{ line: 2, column: 5, message: "no such tool" }],
  });
  expect(acceptance(view({ accepted: false, acceptedNoteText }), false)).toEqual({
    status: "False",
    reason: "ScriptInvalid",
    message: "line 2, column 5: no such tool",
  });
  expect(acceptance(view(), true)).toMatchObject({ status: "True", reason: "AlreadyRan" });
});
