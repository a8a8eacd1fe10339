import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { newId } from "../../src/base/ids.ts";
import { appendRecords, type PendingRecord, readLog } from "../../src/journal/append.ts";
import {
  claimRuns,
  finishRun,
  noteProgress,
  readClaimed,
  readOwnedRuns,
  readWake,
  releaseRun,
  startRun,
  takeWokenRuns,
} from "../../src/journal/claims.ts";
import { readDemand } from "../../src/journal/demand.ts";
import { decideHold, listDecidedHolds, listSignals } from "../../src/journal/holds.ts";
import {
  listLeases,
  registerIncarnation,
  renewLease,
  retireIncarnation,
  takeOver,
} from "../../src/journal/incarnations.ts";
import type { LogRecord } from "../../src/journal/log-records.ts";
import { claimInstallation, migrate } from "../../src/journal/migrate.ts";
import { readPin, recordPinAttempt } from "../../src/journal/pins.ts";
import { dropProjections, readProjections } from "../../src/journal/projections.ts";
import {
  admitRun,
  cancelRun,
  listUnfinishedRuns,
  type RunAdmission,
  sendSignal,
  viewRuns,
} from "../../src/journal/runs.ts";
import type { Sql } from "../../src/journal/sql.ts";
import { observeToolset, readToolsets } from "../../src/journal/toolsets.ts";

const LEASE_MS = 60_000;

/** One way to a journal. */
export interface JournalUnderTest {
  /** The controller's connection. */
  readonly sql: Sql;
  /** The connection of a Toolset's dispatchers, where they have one of their own. */
  readonly dispatcherSql?: (toolsetId: number) => Promise<Sql>;
  close(): Promise<void>;
}

/** The journal's promises, verb by verb, held against one engine. */
export function journalSuite(engine: string, open: () => Promise<JournalUnderTest>): void {
  describe(`journal on ${engine}`, () => {
    let sql: Sql;
    /** What a dispatcher does goes through this one. */
    let own: Sql;
    let journal: JournalUnderTest;
    let toolsetId: number;
    let me: string;

    beforeAll(async () => {
      journal = await open();
      sql = journal.sql;
      await migrate(sql);
    });
    afterAll(() => journal.close());

    beforeEach(async () => {
      const toolset = await observeToolset(sql, toolsetSpec({ name: `ts-${newId()}` }));
      toolsetId = toolset.toolsetId;
      own = (await journal.dispatcherSql?.(toolsetId)) ?? sql;
      me = await incarnation("here");
    });

    const toolsetSpec = (changes: object) => ({
      namespace: "agents",
      name: "triage",
      uid: "u",
      generation: 1,
      specText: "{}",
      suspended: false,
      pinReason: "a",
      ...changes,
    });
    const incarnation = (place: string) => registerIncarnation(own, { toolsetId, place, leaseMs: LEASE_MS });
    const admission = (changes: Partial<RunAdmission> = {}): RunAdmission => ({
      toolsetId,
      namespace: "agents",
      name: `run-${newId()}`,
      uid: newId(),
      generatedName: false,
      specDigest: "sha256:1",
      pinDigest: "sha256:2",
      requester: "bob",
      script: "x",
      ...changes,
    });
    const admitted = async (changes: Partial<RunAdmission> = {}) => {
      const spec = admission(changes);
      const outcome = await admitRun(sql, spec);
      expect(outcome.kind).toBe("admitted");
      return { ...spec, runId: outcome.runId };
    };
    const claimedByMe = async (changes: Partial<RunAdmission> = {}) => {
      const run = await admitted(changes);
      const [claimed] = await claimRuns(own, me, 10);
      expect(claimed?.runId).toBe(run.runId);
      return { ...run, wake: claimed?.wake ?? -1 };
    };
    const called = (seq: number, argumentsText = "{}"): LogRecord => ({
      kind: "called",
      ref: seq,
      seq,
      tool: "g.t",
      digest: "d",
      step: 1,
      sent: false,
      argumentsText,
    });
    const pending = (
      runId: string,
      n: number,
      record: LogRecord,
      extra: Partial<PendingRecord> = {},
    ): PendingRecord => ({ runId, n, atMs: n, record, ...extra });
    const parked = (runId: string, n: number, holdId = "1"): PendingRecord =>
      pending(
        runId,
        n,
        { kind: "parked", seq: 1, holdId, reason: "ApprovalRequired" },
        {
          hold: {
            holdId,
            seq: 1,
            tool: "g.t",
            reason: "ApprovalRequired",
            actions: ["Approve", "Reject"],
            callDigest: "sha256:c",
            shownText: "{}",
          },
          project: true,
        },
      );
    const logOf = async (runId: string) => {
      const entries = [];
      for await (const entry of readLog(own, toolsetId, runId)) entries.push(entry);
      return entries;
    };
    const progress = (runId: string, phase = "Parked") => ({ runId, phase, callsText: "{}" });

    test("a migration is applied once, and another installation is turned away [semantics 14.6]", async () => {
      expect(await migrate(sql)).toEqual([]);
      await claimInstallation(sql, "cluster-1");
      await claimInstallation(sql, "cluster-1");
      await expect(claimInstallation(sql, "cluster-2")).rejects.toMatchObject({ code: "JournalOfAnotherCluster" });
    });

    test("a Run is admitted once, however often it is asked", async () => {
      const spec = admission();
      const outcomes = await Promise.all([1, 2, 3, 4].map(() => admitRun(sql, spec)));
      expect(outcomes.map((outcome) => outcome.kind).sort()).toEqual(["admitted", "known", "known", "known"]);
      expect(new Set(outcomes.map((outcome) => outcome.runId)).size).toBe(1);
    });

    test("the same name and spec again is AlreadyRan once the first has ended; a generated name or another spec is new [semantics 14.5, case e03]", async () => {
      const run = await claimedByMe();
      await finishRun(own, me, { runId: run.runId, phase: "Succeeded", resultText: "7" });
      expect(await admitRun(sql, { ...run, uid: newId() })).toMatchObject({
        kind: "alreadyRan",
        runId: run.runId,
        phase: "Succeeded",
      });
      expect(await admitRun(sql, { ...run, uid: newId(), specDigest: "sha256:other" })).toMatchObject({
        kind: "admitted",
      });
      expect(await admitRun(sql, { ...run, uid: newId(), generatedName: true })).toMatchObject({ kind: "admitted" });
    });

    test("two claimers never get the same run", async () => {
      const runs = await Promise.all(Array.from({ length: 20 }, () => admitted()));
      const other = await incarnation("elsewhere");
      const claims = await Promise.all([me, other, me, other].map((id) => claimRuns(own, id, 5)));
      const ids = claims.flat().map((run) => run.runId);
      expect(new Set(ids).size).toBe(ids.length);
      expect([...ids].sort()).toEqual(runs.map((run) => run.runId).sort());
    });

    test("a suspended Toolset and a dead incarnation claim nothing [semantics 7.10]", async () => {
      await admitted();
      const [toolset] = await readToolsets(sql, [toolsetId]);
      await observeToolset(sql, toolsetSpec({ name: toolset?.name, suspended: true }));
      expect(await claimRuns(own, me, 5)).toEqual([]);
      await observeToolset(sql, toolsetSpec({ name: toolset?.name }));
      const other = await incarnation("elsewhere");
      await takeOver(sql, other);
      expect(await claimRuns(own, other, 5)).toEqual([]);
      expect(await claimRuns(own, me, 5)).toHaveLength(1);
    });

    test("exact text comes back as it was, U+0000 and all [semantics 4.2, case d03]", async () => {
      const script = 'const a = "\u0000\ud800";';
      const run = await admitted({ script, inputText: '{"n":9007199254740993,"z":"\\u0000"}' });
      const [claimed] = await claimRuns(own, me, 1);
      expect(claimed).toMatchObject({ script, inputText: '{"n":9007199254740993,"z":"\\u0000"}' });
      const records: LogRecord[] = [
        called(1, '{"q":"a\\u0000b","id":9007199254740993}'),
        { kind: "settled", ref: 1, seq: 1, attempts: 1, outcome: { ok: true, valueText: '"\\ud800"' } },
        {
          kind: "settled",
          ref: 2,
          seq: 2,
          attempts: 1,
          outcome: {
            ok: false,
            error: { code: "ToolFailed", message: "\u0000", tool: "t", seq: 2, outcomeUnknown: false, attempts: 1 },
          },
        },
        { kind: "printed", lines: [{ level: "log", text: "\u0000\ud800" }] },
        { kind: "signalRead", ref: 3, signalNo: 4, valueText: '"\\u0000"' },
      ];
      await appendRecords(
        own,
        me,
        records.map((record, index) => pending(run.runId, index + 1, record)),
      );
      expect(await logOf(run.runId)).toEqual(
        records.map((record, index) => ({ ...record, n: index + 1, atMs: index + 1 })),
      );
    });

    test("an append written twice is there once [case d07]", async () => {
      const run = await claimedByMe();
      const batch = [pending(run.runId, 1, called(1)), parked(run.runId, 2)];
      await appendRecords(own, me, batch);
      await appendRecords(own, me, batch);
      expect((await logOf(run.runId)).map((entry) => entry.n)).toEqual([1, 2]);
      const [view] = await viewRuns(sql, [run.runId]);
      expect(view?.holds.map((hold) => hold.holdId)).toEqual(["1"]);
    });

    test("after a take-over the old owner writes nothing, releases nothing, ends nothing [case d05]", async () => {
      const run = await claimedByMe();
      expect(await takeOver(sql, me)).toBe(1);
      const successor = await incarnation("elsewhere");
      expect((await claimRuns(own, successor, 5)).map((claimed) => claimed.runId)).toEqual([run.runId]);
      expect(await appendRecords(own, me, [pending(run.runId, 1, called(1))])).toEqual(new Set());
      expect(await releaseRun(own, me, progress(run.runId), run.wake, undefined)).toBe("lost");
      expect(await finishRun(own, me, { runId: run.runId, phase: "Succeeded" })).toBe(false);
      expect(
        (await startRun(own, me, { runId: run.runId, moduleSource: "", engine: "", behaviours: [], noteText: "{}" }))
          .owned,
      ).toBe(false);
      expect(await renewLease(own, me, LEASE_MS)).toBeUndefined();
      expect(await logOf(run.runId)).toEqual([]);
      expect(await appendRecords(own, successor, [pending(run.runId, 1, called(1))])).toEqual(new Set([run.runId]));
    });

    test("a lease that was renewed since it was seen is not taken over", async () => {
      const [lease] = await listLeases(sql, toolsetId);
      await new Promise((resolve) => setTimeout(resolve, 2));
      await renewLease(own, me, LEASE_MS + 1_000);
      expect(await takeOver(sql, me, lease?.leaseUntilMs)).toBeUndefined();
      expect(await renewLease(own, me, LEASE_MS)).toBeTypeOf("number");
    });

    test("whoever starts in the same place takes its predecessor's runs at once [journal: same place]", async () => {
      const run = await claimedByMe();
      const successor = await incarnation("here");
      expect((await claimRuns(own, successor, 5)).map((claimed) => claimed.runId)).toEqual([run.runId]);
    });

    test("a decision that meets the release is not lost [journal: wake-ups]", async () => {
      const run = await claimedByMe();
      await appendRecords(own, me, [pending(run.runId, 1, called(1)), parked(run.runId, 2)]);
      const decision = { holdId: "1", action: "Approve", by: "ann", reason: "ok" };
      expect(await decideHold(sql, run.runId, decision)).toEqual({ kind: "taken" });
      expect(await releaseRun(own, me, progress(run.runId), run.wake, undefined)).toBe("woken");
      const [woken] = await takeWokenRuns(own, me);
      expect(woken).toMatchObject({ runId: run.runId, wake: run.wake + 1 });
      expect(await takeWokenRuns(own, me)).toEqual([]);
      expect(await listDecidedHolds(own, toolsetId, run.runId)).toEqual([{ ...decision, seq: 1 }]);
      expect(await releaseRun(own, me, progress(run.runId), woken?.wake ?? -1, undefined)).toBe("released");
    });

    test("of two decisions at once one is taken, the other is told who decided what [semantics 7.9, case c01]", async () => {
      const run = await claimedByMe();
      await appendRecords(own, me, [pending(run.runId, 1, called(1)), parked(run.runId, 2)]);
      const [first, second] = await Promise.all([
        decideHold(sql, run.runId, { holdId: "1", action: "Approve", by: "ann", reason: "" }),
        decideHold(sql, run.runId, { holdId: "1", action: "Reject", by: "bob", reason: "no" }),
      ]);
      const kinds = [first, second].map((outcome) => outcome.kind).sort();
      expect(kinds).toEqual(["decided", "taken"]);
      expect(first.kind === "decided" ? first.by : second.kind === "decided" && second.by).toBe(
        first.kind === "taken" ? "ann" : "bob",
      );
    });

    test("a decision on a call that is not parked, or about other arguments, is said and stored nowhere [semantics 7.9, case c07]", async () => {
      const run = await claimedByMe();
      await appendRecords(own, me, [pending(run.runId, 1, called(1)), parked(run.runId, 2)]);
      const decision = { holdId: "1", action: "Approve", by: "ann", reason: "" };
      expect(await decideHold(sql, run.runId, { ...decision, holdId: "9" })).toEqual({ kind: "notParked" });
      expect(await decideHold(sql, run.runId, { ...decision, callDigest: "sha256:x" })).toEqual({
        kind: "otherCall",
        callDigest: "sha256:c",
      });
      expect(await decideHold(sql, run.runId, { ...decision, callDigest: "sha256:c" })).toEqual({ kind: "taken" });
      expect(await decideHold(sql, run.runId, { ...decision, callDigest: "sha256:c" })).toEqual({ kind: "repeated" });
    });

    test("a run that nobody owns is cancelled by whoever asks, its holds closed [semantics 7.7]", async () => {
      const run = await claimedByMe();
      await appendRecords(own, me, [pending(run.runId, 1, called(1)), parked(run.runId, 2)]);
      await releaseRun(own, me, progress(run.runId), run.wake, undefined);
      expect(await cancelRun(sql, run.uid, "no longer wanted")).toEqual({ toolsetId, owned: false });
      const [view] = await viewRuns(sql, [run.runId]);
      expect(view).toMatchObject({ phase: "Cancelled", errorText: expect.stringContaining("no longer wanted") });
      expect(view?.holds[0]).toMatchObject({ outcome: "Cancelled", outcomeNote: "no longer wanted" });
      expect(await claimRuns(own, me, 5)).toEqual([]);
      expect(await cancelRun(sql, run.uid, "again")).toBeUndefined();
      expect(await listUnfinishedRuns(sql, toolsetId)).toEqual([]);
    });

    test("a run that somebody owns is woken, and its owner ends it [semantics 7.7]", async () => {
      const run = await claimedByMe();
      expect(await cancelRun(sql, run.uid, "stop")).toEqual({ toolsetId, owned: true });
      expect(await takeWokenRuns(own, me)).toMatchObject([{ runId: run.runId, cancelReason: "stop" }]);
      expect((await viewRuns(sql, [run.runId]))[0]?.phase).toBe("Pending");
    });

    test("a signal wakes the run, in order; one to a run that has ended is refused", async () => {
      const run = await claimedByMe();
      await sendSignal(sql, run.runId, "x", '"first"');
      await sendSignal(sql, run.runId, "x", '"second"');
      const signals = await listSignals(own, toolsetId, run.runId, 0);
      expect(signals.map((signal) => signal.payloadText)).toEqual(['"first"', '"second"']);
      expect(await listSignals(own, toolsetId, run.runId, signals[0]?.signalNo ?? 0)).toHaveLength(1);
      expect(await takeWokenRuns(own, me)).toHaveLength(1);
      await finishRun(own, me, { runId: run.runId, phase: "Succeeded" });
      expect(await sendSignal(sql, run.runId, "x", "1")).toBe(false);
    });

    test("a queued status stays until it was written, and newer ones stay beyond that", async () => {
      const run = await claimedByMe();
      await appendRecords(own, me, [pending(run.runId, 1, called(1)), parked(run.runId, 2)]);
      const mine = async () => (await readProjections(sql, 1_000)).filter((entry) => entry.toolsetId === toolsetId);
      const seen = await mine();
      expect(seen).toMatchObject([{ runId: run.runId }]);
      expect(await mine()).toEqual(seen);
      await finishRun(own, me, { runId: run.runId, phase: "Succeeded" });
      await dropProjections(sql, seen);
      const rest = await mine();
      expect(rest).toHaveLength(1);
      await dropProjections(sql, rest);
      expect(await mine()).toEqual([]);
    });

    test("demand counts what may be claimed now, and says when the next timer is due [journal: demand]", async () => {
      const run = await claimedByMe();
      const mine = async () => (await readDemand(sql)).find((demand) => demand.toolsetId === toolsetId);
      expect(await mine()).toMatchObject({ claimable: 0, held: 1, pinWished: true });
      const dueMs = Date.now() + 3_600_000;
      await releaseRun(own, me, progress(run.runId, "Sleeping"), run.wake, dueMs);
      const demand = await mine();
      expect(demand).toMatchObject({ claimable: 0, held: 0 });
      expect(demand?.nextInMs).toBeGreaterThan(3_500_000);
      await admitted();
      expect(await mine()).toMatchObject({ claimable: 1 });
    });

    test("a pin is stored once and named by the Toolset; a failed attempt leaves the old one [semantics 1.3, 1.7]", async () => {
      const pin = { digest: "sha256:p", contentText: '{"n":9007199254740993}', notesText: "{}" };
      expect(await recordPinAttempt(own, me, { toolsetId, pinWanted: 1, reportText: "{}", pin })).toBe(true);
      expect(await recordPinAttempt(own, me, { toolsetId, pinWanted: 1, reportText: "{}", pin })).toBe(false);
      expect(await readPin(own, toolsetId, "sha256:p")).toEqual(pin);
      const [before] = await readToolsets(sql, [toolsetId]);
      await observeToolset(sql, toolsetSpec({ name: before?.name, pinReason: "b" }));
      expect(await recordPinAttempt(own, me, { toolsetId, pinWanted: 2, reportText: '{"fault":1}' })).toBe(true);
      const [after] = await readToolsets(sql, [toolsetId]);
      expect(after).toMatchObject({ pinDigest: "sha256:p", pinWanted: 2, pinDone: 2, reportText: '{"fault":1}' });
    });

    test("whose claim's answer was lost learns what it holds, and of nothing else [journal: ownership]", async () => {
      const run = await claimedByMe();
      const foreign = await admitted();
      const other = await incarnation("elsewhere");
      await claimRuns(own, other, 5);
      expect(await readOwnedRuns(own, me)).toEqual([{ runId: run.runId, wake: run.wake }]);
      expect((await readClaimed(own, me, [run.runId, foreign.runId])).map(({ runId }) => runId)).toEqual([run.runId]);
      expect(await readWake(own, me, run.runId)).toEqual({ runId: run.runId, wake: run.wake });
      expect(await readWake(own, me, foreign.runId)).toBeUndefined();
      await noteProgress(own, me, { runId: run.runId, phase: "Sleeping", wakeAtMs: 86_400_000 });
      await noteProgress(own, me, { runId: foreign.runId, phase: "Sleeping" });
      expect((await viewRuns(sql, [run.runId]))[0]).toMatchObject({ phase: "Sleeping", wakeAtMs: 86_400_000 });
      expect((await viewRuns(sql, [foreign.runId]))[0]?.phase).toBe("Pending");
    });

    test("an orderly stop sets runs free without counting a loss", async () => {
      const run = await claimedByMe();
      await retireIncarnation(own, me);
      const successor = await incarnation("elsewhere");
      expect(await claimRuns(own, successor, 5)).toMatchObject([{ runId: run.runId, losses: 0 }]);
    });
  });
}
