import type { ClosedHold } from "../journal/append.ts";
import type { CallCounts } from "../journal/documents.ts";
import type { DecidedHold } from "../journal/holds.ts";
import type { SettledOutcome } from "../journal/log-records.ts";
import { afterInterruption, afterNotSent } from "../policy/next-attempt.ts";
import { type StepCall, stepVerdict } from "../policy/step-order.ts";
import type { CallError, Command } from "../sandbox/port.ts";
import type { AttemptOutcome } from "../tools/port.ts";
import { makeAttempt } from "./attempt.ts";
import { type CallFailure, judgeOutcome } from "./call-outcome.ts";
import { decisionText, judgeDecision } from "./decision.ts";
import type { DriverHost, QueuedDelivery } from "./driver-host.ts";
import type { RunHistory } from "./history.ts";
import { describeHold } from "./hold-document.ts";
import { type LiveCall, newCall, recalledCall, stepCall } from "./live-call.ts";
import type { PinnedWorld } from "./pinned-world.ts";
import type { RunLog } from "./run-log.ts";

export interface RunCallsSpec {
  readonly runId: string;
  readonly host: DriverHost;
  readonly world: PinnedWorld;
  readonly log: RunLog;
  readonly history: RunHistory;
  /** What the script is to be told. */
  readonly deliver: (delivery: QueuedDelivery) => void;
  /** An attempt has ended: something may go on. */
  readonly onAttemptEnded: () => void;
  /** An intent could not be committed, so nothing was sent: the run is not ours any more, or the journal refuses it. */
  readonly onLost: (error: unknown) => void;
}

/**
 * The calls of one run, each carried through its life: recorded before it is sent, held by its policy, sent, tried again,
 * parked, settled. Everything that is decided here is in the log before anybody can act on it.
 */
export class RunCalls {
  readonly #spec: RunCallsSpec;
  /** By seq. Settled ones are kept while their step plays a part. */
  readonly #calls = new Map<number, LiveCall>();
  #lastSeq: number;
  #step: number;
  #succeeded: number;
  #failed: number;
  #stopped = false;

  constructor(spec: RunCallsSpec) {
    this.#spec = spec;
    this.#lastSeq = spec.history.lastSeq;
    this.#step = spec.history.lastStep;
    this.#succeeded = spec.history.succeeded;
    this.#failed = spec.history.failed;
  }

  /** Calls that are not settled. */
  get open(): LiveCall[] {
    return [...this.#calls.values()].filter((call) => call.state !== "settled");
  }

  get inFlight(): boolean {
    return [...this.#calls.values()].some((call) => call.state === "inFlight");
  }

  get counts(): CallCounts {
    const states = [...this.#calls.values()].map((call) => call.state);
    return {
      total: this.#lastSeq,
      succeeded: this.#succeeded,
      failed: this.#failed,
      parked: states.filter((state) => state === "parked").length,
      inFlight: states.filter((state) => state === "inFlight").length,
    };
  }

  /** When a call is due by itself, by the database's clock; undefined when only others can bring one on. */
  get nextDueMs(): number | undefined {
    const times = this.open.flatMap((call) =>
      call.state === "waiting" && call.notBeforeMs > 0 ? [call.notBeforeMs] : [],
    );
    return times.length === 0 ? undefined : Math.min(...times);
  }

  /** Makes a recorded call live again. One in doubt is an interruption (semantics 5.1): its policy says what follows. */
  recall(ref: number): void {
    const { history, world } = this.#spec;
    const recorded = history.callsByRef.get(ref);
    const tool = recorded && world.tool(recorded.tool);
    if (!recorded || !tool) return;
    const call = recalledCall(recorded, tool);
    this.#calls.set(call.seq, call);
    if (recorded.state.kind === "settled") {
      call.succeeded = history.deliveries.find((delivery) => delivery.ref === ref)?.outcome.ok ?? false;
    } else if (recorded.state.kind === "inDoubt") {
      this.#interrupted(call, "the dispatcher died between sending the call and recording its answer", undefined, true);
    } else if (recorded.state.kind === "answered") {
      this.#settle(call, { ok: true, valueText: recorded.state.valueText });
    } else if (recorded.state.kind === "rejected") {
      this.#fail(call, { code: "Rejected", message: decisionText(recorded.state.by, recorded.state.reason) });
    }
  }

  /** Settled calls of the step that may still go on count for the order of its outward calls. */
  recallSettledOfLastStep(): void {
    const { history } = this.#spec;
    for (const recorded of history.callsByRef.values()) {
      if (recorded.state.kind === "settled" && recorded.step === history.lastStep) this.recall(recorded.ref);
    }
  }

  /** Begins the step of a turn's calls (semantics 6.1), and drops what no later order depends on. */
  beginStep(): void {
    this.#step += 1;
    for (const [seq, call] of this.#calls)
      if (call.state === "settled" && call.step < this.#step) this.#calls.delete(seq);
  }

  /**
   * Takes a call that the script has issued. One whose arguments do not fit is refused: it gets no seq (semantics 4.1).
   * @returns false when the run made more calls than it may
   */
  take(command: Extract<Command, { kind: "call" }>): boolean {
    const tool = this.#spec.world.tool(command.tool);
    if (!tool) {
      this.#refuse(command, `the pin has no tool ${command.tool}`, []);
      return true;
    }
    const faults = tool.validate(command.argumentsText);
    if (faults.length > 0) {
      const lines = faults.map((fault) => `${fault.path || "/"}: ${fault.message}`);
      this.#refuse(
        command,
        `the arguments of ${command.tool} do not fit its input schema: ${lines.join("; ")}`,
        faults,
      );
      return true;
    }
    if (this.#lastSeq >= this.#spec.world.limits.calls) return false;
    this.#lastSeq += 1;
    this.#calls.set(this.#lastSeq, newCall(command, tool, this.#lastSeq, this.#step));
    return true;
  }

  #refuse(command: Extract<Command, { kind: "call" }>, message: string, faults: readonly unknown[]): void {
    const detailsText = JSON.stringify({ faults });
    const error: CallError = {
      code: "InvalidArguments",
      message,
      tool: command.tool,
      outcomeUnknown: false,
      attempts: 0,
      detailsText,
    };
    const { atMs } = this.#spec.log.write({ kind: "refused", ref: command.ref, error }, { lazily: true });
    this.#spec.deliver({ delivery: { ref: command.ref, atMs, outcome: { ok: false, error } } });
  }

  /** Lets every call that may go now go, in order of seq; records those that wait. */
  advance(): void {
    if (this.#stopped) return;
    const steps = new Map<number, StepCall[]>();
    const ordered = [...this.#calls.values()].sort((left, right) => left.seq - right.seq);
    for (const call of ordered) steps.set(call.step, [...(steps.get(call.step) ?? []), stepCall(call)]);
    for (const call of ordered) if (call.state === "waiting") this.#advanceCall(call, steps.get(call.step) ?? []);
  }

  #advanceCall(call: LiveCall, sameStep: readonly StepCall[]): void {
    const verdict = stepVerdict(stepCall(call), sameStep);
    if (verdict === "skip")
      return this.#fail(call, { code: "Skipped", message: "an earlier outward call of this step failed" });
    if (call.tool.policy.approval === "Required" && !call.approved) {
      return this.#park(call, "ApprovalRequired", `${call.tool.fullName} needs approval before it is sent.`);
    }
    if (verdict === "go" && this.#mayGo(call)) this.#send(call);
    else if (!call.recorded) this.#recordWaiting(call);
  }

  #mayGo(call: LiveCall): boolean {
    const { host, world } = this.#spec;
    if (host.holdsBack() || call.notBeforeMs > host.databaseNowMs()) return false;
    let inFlight = 0;
    let ofTool = 0;
    for (const other of this.#calls.values()) {
      if (other.state !== "inFlight") continue;
      inFlight += 1;
      if (other.tool === call.tool) ofTool += 1;
    }
    return inFlight < world.limits.concurrency && ofTool < call.tool.policy.concurrency;
  }

  #recordWaiting(call: LiveCall): void {
    call.recorded = true;
    this.#spec.log.write(calledRecord(call, false));
  }

  /** @param ended the hold that this one takes the place of, closed by the same record */
  #park(call: LiveCall, reason: string, message: string, ended?: ClosedHold): void {
    if (!call.recorded) this.#recordWaiting(call);
    const hold = describeHold(call, this.#spec.runId, reason, message);
    call.state = "parked";
    call.hold = { id: hold.holdId, reason };
    call.parkings += 1;
    this.#spec.log.write(
      { kind: "parked", seq: call.seq, holdId: hold.holdId, reason },
      { hold, project: true, ...(ended === undefined ? {} : { closedHold: ended }) },
    );
  }

  /** Carries out what somebody decided about a parked call. What cannot be carried out settles nothing (semantics 7.9). */
  decide(decision: DecidedHold): void {
    const call = this.#calls.get(decision.seq);
    if (call?.state !== "parked" || call.hold?.id !== decision.holdId) return;
    const judged = judgeDecision(decision, call);
    const { holdId, by, reason } = decision;
    if (judged.kind === "misfit") {
      const ended = { holdId, outcome: "Withdrawn", note: judged.message };
      return this.#park(call, call.hold.reason, `${judged.message}. Decide again`, ended);
    }
    const { action, outcome } = judged;
    const answers = action === "Answer" ? { answersText: judged.valueText } : {};
    this.#spec.log.write(
      { kind: "resolved", seq: call.seq, holdId, action, by, reason, ...answers },
      { closedHold: { holdId, outcome, note: decisionText(by, reason) }, project: true },
    );
    call.hold = undefined;
    call.state = "waiting";
    call.notBeforeMs = 0;
    if (action === "Approve") call.approved = true;
    else if (action === "Reject") this.#fail(call, { code: "Rejected", message: decisionText(by, reason) });
    else this.#settle(call, { ok: true, valueText: judged.valueText });
  }

  /** Records the send, and sends once that is committed: intent before effect (semantics 4.2). */
  #send(call: LiveCall): void {
    call.state = "inFlight";
    call.attempts += 1;
    const { committed } = this.#spec.log.write(
      call.recorded ? { kind: "sent", seq: call.seq, attempt: call.attempts } : calledRecord(call, true),
    );
    call.recorded = true;
    void this.#attempt(call, committed);
  }

  async #attempt(call: LiveCall, committed: Promise<void>): Promise<void> {
    const { host, runId } = this.#spec;
    const abort = new AbortController();
    call.abort = abort;
    try {
      await committed;
      if (!(await host.mayAct())) return;
    } catch (error) {
      if (!this.#stopped) this.#spec.onLost(error);
      return;
    }
    if (this.#stopped) return;
    if (host.holdsBack()) this.#notSent(call, "calls are held back now", host.databaseNowMs());
    else {
      const outcome = await makeAttempt(call, runId, host.source(call.tool), abort);
      if (this.#stopped) return;
      this.#attemptEnded(call, outcome);
    }
    call.abort = undefined;
    this.#spec.onAttemptEnded();
  }

  #attemptEnded(call: LiveCall, outcome: AttemptOutcome): void {
    const judged = judgeOutcome(outcome, call, this.#spec.world.limits);
    switch (judged.kind) {
      case "succeeded":
        return this.#settle(call, { ok: true, valueText: judged.valueText });
      case "failed":
        return this.#fail(call, judged.failure);
      case "interrupted":
        return this.#interrupted(call, judged.cause, judged.retryAfterMs, false);
      case "notSent":
        return this.#unreachable(call, judged.cause, judged.retryAfterMs);
    }
  }

  /** @param ourDeath the dispatcher died, not the server: there is nobody to spare by a pause */
  #interrupted(call: LiveCall, cause: string, retryAfterMs: number | undefined, ourDeath: boolean): void {
    const { host, log } = this.#spec;
    call.unreachableSinceMs = undefined;
    call.unreachableTries = 0;
    const nowMs = host.databaseNowMs();
    const next = afterInterruption(call.tool.policy, call.attempts, nowMs, retryAfterMs, host.random());
    if (next.kind === "fail" && call.tool.policy.onInterruption === "Park") {
      const message = `${call.tool.fullName} was sent and no answer came (${cause}). Look whether it took effect: approve to send it again, reject if it failed, answer with its result if it succeeded.`;
      return this.#park(call, "OutcomeUnknown", message);
    }
    if (next.kind === "fail")
      return this.#fail(call, { code: next.code, message: cause, outcomeUnknown: next.outcomeUnknown });
    call.state = "waiting";
    call.notBeforeMs = ourDeath ? nowMs : next.atMs;
    log.write({ kind: "interrupted", seq: call.seq, attempt: call.attempts, cause, retryAtMs: call.notBeforeMs });
  }

  #unreachable(call: LiveCall, cause: string, retryAfterMs: number | undefined): void {
    const { host } = this.#spec;
    const nowMs = host.databaseNowMs();
    call.unreachableSinceMs ??= nowMs;
    call.unreachableTries += 1;
    const { policy } = call.tool;
    const next = afterNotSent(
      policy,
      call.unreachableTries,
      call.unreachableSinceMs,
      nowMs,
      retryAfterMs,
      host.random(),
    );
    if (next.kind === "retry") return this.#notSent(call, cause, next.atMs);
    call.attempts -= 1;
    this.#fail(call, { code: next.code, message: cause, outcomeUnknown: next.outcomeUnknown });
  }

  /** An attempt that did not arrive does not count as sent (semantics 5.3). */
  #notSent(call: LiveCall, cause: string, retryAtMs: number): void {
    this.#spec.log.write({ kind: "notSent", seq: call.seq, attempt: call.attempts, cause, retryAtMs });
    call.attempts -= 1;
    call.state = "waiting";
    call.notBeforeMs = retryAtMs;
  }

  #fail(call: LiveCall, failure: CallFailure): void {
    const { seq, attempts } = call;
    const { code, message, outcomeUnknown = false, detailsText } = failure;
    const details = detailsText === undefined ? {} : { detailsText };
    this.#settle(call, {
      ok: false,
      error: { code, message, tool: call.tool.fullName, seq, outcomeUnknown, attempts, ...details },
    });
  }

  #settle(call: LiveCall, outcome: SettledOutcome): void {
    if (!call.recorded) this.#recordWaiting(call);
    call.state = "settled";
    call.succeeded = outcome.ok;
    if (outcome.ok) this.#succeeded += 1;
    else this.#failed += 1;
    // What must not run twice is durable before the script can build on it; the rest shares the next intent's commit.
    const strict = call.tool.policy.onInterruption !== "Retry";
    const { ref, seq, attempts } = call;
    const { atMs, committed } = this.#spec.log.write(
      { kind: "settled", ref, seq, attempts, outcome },
      { lazily: !strict },
    );
    this.#spec.deliver({ delivery: { ref, atMs, outcome }, ...(strict ? { committed } : {}) });
  }

  /** Nothing is sent or recorded from now on; attempts under way are cancelled at their servers. */
  stop(): void {
    this.#stopped = true;
    for (const call of this.#calls.values()) call.abort?.abort();
  }
}

function calledRecord(call: LiveCall, sent: boolean) {
  const { ref, seq, step, digest, argumentsText } = call;
  return { kind: "called", ref, seq, tool: call.tool.fullName, digest, step, sent, argumentsText } as const;
}
