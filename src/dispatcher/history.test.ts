import { expect, test } from "vitest";
import type { LogEntry, LogRecord } from "../journal/log-records.ts";
import { HistoryFold } from "./history.ts";

function fold(...records: LogRecord[]) {
  const history = new HistoryFold();
  for (const [index, record] of records.entries())
    history.add({ ...record, n: index + 1, atMs: 1_000 + index } as LogEntry);
  return history.history();
}

function called(seq: number, sent: boolean): LogRecord {
  return { kind: "called", ref: seq, seq, tool: "mail.send", digest: "sha256:0", step: 1, sent, argumentsText: "{}" };
}

const settled = (seq: number): LogRecord => ({
  kind: "settled",
  ref: seq,
  seq,
  attempts: 1,
  outcome: { ok: true, valueText: "1" },
});

test("only a call whose last entry is a send is in doubt [semantics 5.1]", () => {
  const sent = fold(called(1, true));
  expect(sent.callsByRef.get(1)).toMatchObject({ state: { kind: "inDoubt" }, attempts: 1 });
  const waiting = fold(called(1, false));
  expect(waiting.callsByRef.get(1)).toMatchObject({ state: { kind: "waiting", notBeforeMs: 0 }, attempts: 0 });
  const sentLater = fold(called(1, false), { kind: "sent", seq: 1, attempt: 1 });
  expect(sentLater.callsByRef.get(1)?.state.kind).toBe("inDoubt");
});

test("an attempt that certainly did not arrive does not count, and its call goes on waiting [semantics 5.3]", () => {
  const history = fold(called(1, true), { kind: "notSent", seq: 1, attempt: 1, cause: "refused", retryAtMs: 5_000 });
  expect(history.callsByRef.get(1)).toMatchObject({
    state: { kind: "waiting", notBeforeMs: 5_000 },
    attempts: 0,
    unreachableSinceMs: 1_001,
  });
});

test("an interrupted attempt counts, and waits for its time as a row [semantics 5.2]", () => {
  const history = fold(called(1, true), { kind: "interrupted", seq: 1, attempt: 1, cause: "reset", retryAtMs: 9_000 });
  expect(history.callsByRef.get(1)).toMatchObject({ state: { kind: "waiting", notBeforeMs: 9_000 }, attempts: 1 });
});

test("an approval outlives everything that happens to the call later [semantics 7.3]", () => {
  const history = fold(
    called(1, false),
    { kind: "parked", seq: 1, holdId: "1", reason: "ApprovalRequired" },
    { kind: "resolved", seq: 1, holdId: "1", action: "Approve", by: "ann", reason: "" },
    { kind: "sent", seq: 1, attempt: 1 },
    { kind: "interrupted", seq: 1, attempt: 1, cause: "reset", retryAtMs: 0 },
  );
  expect(history.callsByRef.get(1)).toMatchObject({
    approved: true,
    parkings: 1,
    attempts: 1,
    state: { kind: "waiting" },
  });
});

test("a rejection that the script was not told yet is kept for it", () => {
  const history = fold(
    called(1, false),
    { kind: "parked", seq: 1, holdId: "1", reason: "ApprovalRequired" },
    { kind: "resolved", seq: 1, holdId: "1", action: "Reject", by: "bob", reason: "no" },
  );
  expect(history.callsByRef.get(1)?.state).toEqual({ kind: "rejected", by: "bob", reason: "no" });
});

test("an answer that the script was not told yet is kept for it", () => {
  const history = fold(
    called(1, true),
    { kind: "parked", seq: 1, holdId: "1", reason: "OutcomeUnknown" },
    {
      kind: "resolved",
      seq: 1,
      holdId: "1",
      action: "Answer",
      by: "ann",
      reason: "",
      answersText: '{"id":9007199254740993}',
    },
  );
  expect(history.callsByRef.get(1)?.state).toEqual({ kind: "answered", valueText: '{"id":9007199254740993}' });
});

test("deliveries keep the order and the times of the log, whatever the order of the calls [semantics 3.6]", () => {
  const history = fold(called(1, true), called(2, true), settled(2), { kind: "slept", ref: 3 }, settled(1));
  expect(history.deliveries.map(({ ref, atMs }) => [ref, atMs])).toEqual([
    [2, 1_002],
    [3, 1_003],
    [1, 1_004],
  ]);
  expect(history).toMatchObject({ lastN: 5, lastSeq: 2, succeeded: 2, failed: 0, lastAtMs: 1_004 });
});

test("a refused call takes no seq, and its refusal is told again [semantics 4.1]", () => {
  const error = {
    code: "InvalidArguments",
    message: "no",
    tool: "mail.send",
    outcomeUnknown: false,
    attempts: 0,
  } as const;
  const history = fold({ kind: "refused", ref: 1, error }, called(1, true));
  expect(history.refusedRefs.has(1)).toBe(true);
  expect(history.lastSeq).toBe(1);
  expect(history.deliveries[0]).toEqual({ ref: 1, atMs: 1_000, outcome: { ok: false, error } });
});

test("a damaged log is no history", () => {
  expect(() => fold(settled(7))).toThrow(/call 7, which it does not hold/);
});
