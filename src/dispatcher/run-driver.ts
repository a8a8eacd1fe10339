import type { Logger } from "../base/log.ts";
import type { ClaimedRun, RunEnd, RunProgress } from "../journal/claims.ts";
import type { CallCounts, RunFailure } from "../journal/documents.ts";
import type { DecidedHold, UnreadSignal } from "../journal/holds.ts";
import type { SettledOutcome } from "../journal/log-records.ts";
import { afterInterruption, afterNotSent } from "../policy/next-attempt.ts";
import { stepVerdict } from "../policy/step-order.ts";
import type { CallError, Command, Delivery, PrintedLine, Script, ScriptFailure, TurnState } from "../sandbox/port.ts";
import type { AttemptOutcome, ToolSource } from "../tools/port.ts";
import { resultValue } from "../tools/result-value.ts";
import { makeAttempt } from "./attempt.ts";
import type { RunHistory } from "./history.ts";
import { describeHold } from "./hold-document.ts";
import { type LiveCall, newCall, recalledCall, stepCall } from "./live-call.ts";
import type { CallableTool, PinnedWorld } from "./pinned-world.ts";
import type { OpenTurn, Replayed } from "./replay.ts";
import type { RunLog } from "./run-log.ts";
import { Waits } from "./waits.ts";

/** What a driver needs of the process that holds its run. */
export interface DriverHost {
  readonly log: Logger;
  /** The source that reaches a tool's server. */
  source(tool: CallableTool): ToolSource;
  /** Resolves true when this process may send, false when the run is not its own any more. */
  mayAct(): Promise<boolean>;
  /** Whether calls are held back now: the Toolset is suspended, or this process is stopping. */
  holdsBack(): boolean;
  databaseNowMs(): number;
  random(): number;
  /** The run has ended. */
  finish(end: RunEnd): Promise<void>;
  /** The run has nothing to do in this process until `runnableAtMs`, or until somebody wakes it. @returns false when something came meanwhile */
  release(progress: RunProgress, runnableAtMs: number | undefined): Promise<boolean>;
  /** How the run looks has changed while it is held. */
  note(progress: RunProgress): void;
}

/** What came to a run from outside since it was looked at last. */
export interface RunNews {
  readonly decided: readonly DecidedHold[];
  readonly signals: readonly UnreadSignal[];
}

interface QueuedDelivery {
  readonly delivery: Delivery;
  /** Set when the outcome must be durable before the script learns of it. */
  readonly committed?: Promise<void>;
}

/** A wait longer than this frees the memory: the run is given back and claimed again when it is due. */
const HELD_WAIT_MS_MAX = 2_000;
/** Timers look again at most this much later, so none exceeds what a process's timer can hold (semantics 3.11). */
const TIMER_MS_MAX = 86_400_000;

/**
 * Drives one run: hands outcomes to its script one at a time, records what it asks for before anything is sent, and carries
 * each call through its life. Everything that happens to the run passes through here, in one process, one thing at a time.
 */
export class RunDriver {
  readonly run: ClaimedRun;
  readonly #host: DriverHost;
  readonly #world: PinnedWorld;
  readonly #log: RunLog;
  readonly #script: Script;
  readonly #calls = new Map<number, LiveCall>();
  readonly #waits: Waits;
  readonly #queue: QueuedDelivery[] = [];
  #state: TurnState = { kind: "waiting" };
  #lastSeq: number;
  #step: number;
  #succeeded: number;
  #failed: number;
  #pumping = false;
  #ended = false;
  #releasing = false;
  readonly #news: RunNews[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(host: DriverHost, run: ClaimedRun, world: PinnedWorld, log: RunLog, script: Script, history: RunHistory) {
    this.#host = host;
    this.run = run;
    this.#world = world;
    this.#log = log;
    this.#script = script;
    this.#waits = new Waits(history.readSignalNos);
    this.#lastSeq = history.lastSeq;
    this.#step = history.lastStep;
    this.#succeeded = history.succeeded;
    this.#failed = history.failed;
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** The number of the newest signal it knows of. */
  get lastSignalNo(): number {
    return this.#waits.lastSignalNo;
  }

  /** Takes the run up where its log ends: calls that the log holds go on, and what was lost is recorded anew. */
  begin(replayed: Replayed, history: RunHistory): void {
    this.#print(replayed.newLines);
    this.#state = replayed.lastTurn.state;
    const settledOfSteps = [...history.callsByRef.values()].filter((call) => call.state.kind === "settled");
    for (const recorded of settledOfSteps.filter((call) => call.step === history.lastStep)) this.#recall(recorded.ref, history);
    for (const turn of replayed.openTurns) this.#takeOpenTurn(turn, history);
    this.#advance();
    this.#afterTurn();
  }

  #takeOpenTurn(turn: OpenTurn, history: RunHistory): void {
    const recorded = turn.commands.filter((command) => history.callsByRef.has(command.ref));
    for (const command of recorded) this.#recall(command.ref, history);
    this.#takeCommands(turn.commands.filter((command) => !history.callsByRef.has(command.ref)), turn.atMs);
  }

  /** Makes a recorded call live again. One in doubt is an interruption (semantics 5.1): its policy says what follows. */
  #recall(ref: number, history: RunHistory): void {
    const recorded = history.callsByRef.get(ref);
    const tool = recorded && this.#world.tool(recorded.tool);
    if (!recorded || !tool) return;
    const call = recalledCall(recorded, tool);
    this.#calls.set(call.seq, call);
    if (recorded.state.kind === "settled") {
      call.succeeded = history.deliveries.find((delivery) => delivery.ref === ref)?.outcome.ok ?? false;
    } else if (recorded.state.kind === "inDoubt") {
      this.#interrupted(call, "the dispatcher died between sending the call and recording its answer", undefined, true);
    } else if (recorded.state.kind === "rejected") {
      this.#fail(call, "Rejected", rejection(recorded.state.by, recorded.state.reason), false);
    }
  }

  #takeCommands(commands: readonly Command[], atMs: number): void {
    if (commands.some((command) => command.kind === "call")) this.#step += 1;
    for (const command of commands) {
      if (command.kind !== "call") this.#waits.add(command, atMs);
      else if (!this.#takeCall(command)) return;
    }
  }

  /** @returns false when the run ended by it */
  #takeCall(command: Extract<Command, { kind: "call" }>): boolean {
    const tool = this.#world.tool(command.tool);
    if (!tool) {
      this.#refuse(command, `the pin has no tool ${command.tool}`, undefined);
      return true;
    }
    const faults = tool.validate(command.argumentsText);
    if (faults.length > 0) {
      const lines = faults.map((fault) => `${fault.path || "/"}: ${fault.message}`);
      this.#refuse(command, `the arguments of ${command.tool} do not fit its input schema: ${lines.join("; ")}`, faults);
      return true;
    }
    if (this.#lastSeq >= this.#world.limits.calls) {
      void this.#breakOff({ code: "CallLimit", message: `the script made more than ${this.#world.limits.calls} calls` });
      return false;
    }
    this.#lastSeq += 1;
    const call = newCall(command, tool, this.#lastSeq, this.#step);
    this.#calls.set(call.seq, call);
    return true;
  }

  #refuse(command: Extract<Command, { kind: "call" }>, message: string, faults: readonly unknown[] | undefined): void {
    const error: CallError = {
      code: "InvalidArguments",
      message,
      tool: command.tool,
      outcomeUnknown: false,
      attempts: 0,
      ...(faults === undefined ? {} : { detailsText: JSON.stringify({ faults }) }),
    };
    const { atMs } = this.#log.write({ kind: "refused", ref: command.ref, error }, { lazily: true });
    this.#queue.push({ delivery: { ref: command.ref, atMs, outcome: { ok: false, error } } });
  }

  /** Lets every call that may go now go, in order; records those that wait. */
  #advance(): void {
    if (this.#ended) return;
    const steps = [...this.#calls.values()].map(stepCall);
    for (const call of [...this.#calls.values()].sort((left, right) => left.seq - right.seq)) {
      if (call.state === "waiting") this.#advanceCall(call, steps.filter((other) => other.step === call.step));
    }
    this.#setTimer();
  }

  #advanceCall(call: LiveCall, sameStep: ReturnType<typeof stepCall>[]): void {
    const verdict = stepVerdict(stepCall(call), sameStep);
    if (verdict === "skip") return this.#fail(call, "Skipped", "an earlier outward call of this step failed", false);
    if (call.tool.policy.approval === "Required" && !call.approved) {
      return this.#park(call, "ApprovalRequired", `${call.tool.fullName} needs approval before it is sent.`);
    }
    if (verdict === "go" && this.#mayGo(call)) this.#send(call);
    else if (!call.recorded) this.#recordWaiting(call);
  }

  #mayGo(call: LiveCall): boolean {
    if (this.#host.holdsBack() || call.notBeforeMs > this.#host.databaseNowMs()) return false;
    let inFlight = 0;
    let ofTool = 0;
    for (const other of this.#calls.values()) {
      if (other.state !== "inFlight") continue;
      inFlight += 1;
      if (other.tool === call.tool) ofTool += 1;
    }
    return inFlight < this.#world.limits.concurrency && ofTool < call.tool.policy.concurrency;
  }

  #recordWaiting(call: LiveCall): void {
    call.recorded = true;
    this.#log.write(this.#calledRecord(call, false));
  }

  #calledRecord(call: LiveCall, sent: boolean) {
    const { ref, seq, step, digest, argumentsText } = call;
    return { kind: "called", ref, seq, tool: call.tool.fullName, digest, step, sent, argumentsText } as const;
  }

  #park(call: LiveCall, reason: string, message: string): void {
    if (!call.recorded) this.#recordWaiting(call);
    const hold = describeHold(call, this.run.runId, reason, message);
    call.state = "parked";
    call.holdId = hold.holdId;
    call.parkings += 1;
    this.#log.write({ kind: "parked", seq: call.seq, holdId: hold.holdId, reason }, { hold, project: true });
  }

  /** Records the send, and sends once that is committed: intent before effect (semantics 4.2). */
  #send(call: LiveCall): void {
    call.state = "inFlight";
    call.attempts += 1;
    const record = call.recorded
      ? ({ kind: "sent", seq: call.seq, attempt: call.attempts } as const)
      : this.#calledRecord(call, true);
    call.recorded = true;
    const { committed } = this.#log.write(record);
    void this.#attempt(call, committed);
  }

  async #attempt(call: LiveCall, committed: Promise<void>): Promise<void> {
    const abort = new AbortController();
    call.abort = abort;
    try {
      await committed;
      if (!(await this.#host.mayAct()) || this.#ended) return;
    } catch (error) {
      this.#host.log.debug({ err: error, run: this.run.runId, seq: call.seq }, "the intent was not committed, so nothing is sent");
      return;
    }
    if (this.#host.holdsBack()) return this.#notSent(call, "calls are held back now", 0);
    const outcome = await makeAttempt(call, this.run.runId, this.#host.source(call.tool), abort);
    if (this.#ended) return;
    call.abort = undefined;
    this.#attemptEnded(call, outcome);
    this.#advance();
    this.#pump();
  }

  #attemptEnded(call: LiveCall, outcome: AttemptOutcome): void {
    const { tool } = call;
    switch (outcome.kind) {
      case "answered": {
        const value = resultValue(outcome.result, this.#world.limits, tool.unwrap);
        if (value.kind === "value") return this.#settle(call, { ok: true, valueText: value.valueText });
        if (value.kind === "toolFailed") return this.#fail(call, "ToolFailed", value.message, false, value.detailsText);
        return this.#fail(call, "ResultTooLarge", `the result has ${value.bytes} bytes, the limit is ${this.#world.limits.resultBytes}`, false);
      }
      case "protocolError": {
        const details = `{"rpcCode":${outcome.rpcCode}${outcome.dataText === undefined ? "" : `,"data":${outcome.dataText}`}}`;
        return this.#fail(call, "ProtocolError", `${outcome.message} (JSON-RPC ${outcome.rpcCode})`, false, details);
      }
      case "unreadable":
        return this.#fail(call, "Interrupted", outcome.cause, true);
      case "unauthorized":
        return this.#fail(call, "NotSent", `the server ${tool.server.name} refused the credential: ${outcome.cause}`, false);
      case "inputRequired":
        return this.#fail(call, "ProtocolError", "the server asks a question before it goes on, which this version cannot show", false);
      case "interrupted":
        return this.#interrupted(call, outcome.cause, outcome.retryAfterMs);
      case "notSent":
        return this.#unreachable(call, outcome.cause, outcome.retryAfterMs);
      default:
        return this.#fail(call, "ResultTooLarge", "the answer is larger than any result may be", false);
    }
  }

  /** @param ourDeath the dispatcher died, not the server: there is nobody to spare by a pause */
  #interrupted(call: LiveCall, cause: string, retryAfterMs: number | undefined, ourDeath = false): void {
    call.unreachableSinceMs = undefined;
    call.unreachableTries = 0;
    const nowMs = this.#host.databaseNowMs();
    const next = afterInterruption(call.tool.policy, call.attempts, nowMs, retryAfterMs, this.#host.random());
    if (next.kind === "fail") return this.#fail(call, next.code, cause, next.outcomeUnknown);
    call.state = "waiting";
    call.notBeforeMs = ourDeath ? nowMs : next.atMs;
    this.#log.write({ kind: "interrupted", seq: call.seq, attempt: call.attempts, cause, retryAtMs: call.notBeforeMs });
  }

  #unreachable(call: LiveCall, cause: string, retryAfterMs: number | undefined): void {
    const nowMs = this.#host.databaseNowMs();
    call.unreachableSinceMs ??= nowMs;
    call.unreachableTries += 1;
    const next = afterNotSent(call.tool.policy, call.unreachableTries, call.unreachableSinceMs, nowMs, retryAfterMs, this.#host.random());
    if (next.kind === "fail") {
      call.attempts -= 1;
      return this.#fail(call, next.code, cause, next.outcomeUnknown);
    }
    this.#notSent(call, cause, next.atMs);
  }

  #notSent(call: LiveCall, cause: string, retryAtMs: number): void {
    this.#log.write({ kind: "notSent", seq: call.seq, attempt: call.attempts, cause, retryAtMs });
    call.attempts -= 1;
    call.state = "waiting";
    call.notBeforeMs = retryAtMs;
  }

  #fail(call: LiveCall, code: CallError["code"], message: string, outcomeUnknown: boolean, detailsText?: string): void {
    const { seq, attempts } = call;
    const error: CallError = { code, message, tool: call.tool.fullName, seq, outcomeUnknown, attempts, ...(detailsText === undefined ? {} : { detailsText }) };
    this.#settle(call, { ok: false, error });
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
    const { atMs, committed } = this.#log.write({ kind: "settled", ref, seq, attempts, outcome }, { lazily: !strict });
    this.#queue.push({ delivery: { ref, atMs, outcome }, ...(strict ? { committed } : {}) });
  }

  /** Hands what waits to the script, one delivery at a time, its job queue drained in between (semantics 3.6). */
  #pump(): void {
    if (this.#pumping || this.#ended) return;
    this.#pumping = true;
    void this.#pumpAll()
      .catch((error: unknown) => this.#broken(error))
      .finally(() => {
        this.#pumping = false;
        if (!this.#ended) this.#rest();
      });
  }

  async #pumpAll(): Promise<void> {
    for (let next = this.#queue.shift(); next && !this.#ended; next = this.#queue.shift()) {
      await next.committed;
      if (this.#state.kind === "failed") continue;
      const turn = await this.#script.deliver(next.delivery);
      if (this.#ended) return;
      this.#print(turn.printed);
      this.#state = turn.state;
      this.#takeCommands(turn.commands, next.delivery.atMs);
      this.#forgetSettled();
      this.#advance();
      this.#log.flush();
    }
  }

  /** Settled calls of earlier steps play no part any more. */
  #forgetSettled(): void {
    for (const [seq, call] of this.#calls) if (call.state === "settled" && call.step < this.#step) this.#calls.delete(seq);
  }

  #print(lines: readonly PrintedLine[]): void {
    if (lines.length > 0) this.#log.write({ kind: "printed", lines }, { lazily: true });
  }

  #afterTurn(): void {
    if (this.#queue.length > 0) this.#pump();
    else this.#rest();
  }

  /** The script is idle: has the run ended, is it stuck, may it be given back? */
  #rest(): void {
    if (this.#ended || this.#pumping) return;
    if (this.#queue.length > 0) return this.#pump();
    this.#log.flush();
    const open = [...this.#calls.values()].filter((call) => call.state !== "settled");
    if (this.#state.kind === "failed" && isLimit(this.#state.error)) return void this.#breakOff(failureOf(this.#state.error));
    if (this.#state.kind !== "waiting" && open.length === 0) return void this.#conclude(this.#state);
    if (this.#state.kind === "waiting" && open.length === 0 && this.#waits.count === 0) return void this.#stall(this.#state);
    this.#setTimer();
    if (open.some((call) => call.state === "inFlight")) return this.#host.note(this.#progress());
    const nextMs = this.#nextDueMs(open);
    const soon = nextMs !== undefined && nextMs - this.#host.databaseNowMs() <= HELD_WAIT_MS_MAX;
    if (soon && !this.#host.holdsBack()) return this.#host.note(this.#progress());
    void this.#release(this.#host.holdsBack() ? this.#heldBackUntil(open, nextMs) : nextMs);
  }

  /** A suspended Toolset claims no run: what could go now is due at once, whenever it is resumed. */
  #heldBackUntil(open: readonly LiveCall[], nextMs: number | undefined): number | undefined {
    return open.some((call) => call.state === "waiting") ? (nextMs ?? this.#host.databaseNowMs()) : nextMs;
  }

  /** When something of this run is due by itself; undefined when only others can bring it on. */
  #nextDueMs(open: readonly LiveCall[]): number | undefined {
    const times = open.flatMap((call) => (call.state === "waiting" && call.notBeforeMs > 0 ? [call.notBeforeMs] : []));
    const waitsMs = this.#waits.earliestMs;
    if (waitsMs !== undefined) times.push(waitsMs);
    return times.length === 0 ? undefined : Math.min(...times);
  }

  #setTimer(): void {
    clearTimeout(this.#timer);
    const dueMs = this.#nextDueMs([...this.#calls.values()]);
    if (dueMs === undefined || this.#ended) return;
    const delayMs = Math.min(Math.max(0, dueMs - this.#host.databaseNowMs()), TIMER_MS_MAX);
    this.#timer = setTimeout(() => this.tick(), delayMs);
  }

  /** Looks at the clock: what is due goes on. While the run is being given back nothing starts. */
  tick(): void {
    if (this.#ended || this.#releasing) return;
    this.#endWaits();
    this.#advance();
    this.#afterTurn();
  }

  #endWaits(): void {
    for (const wait of this.#waits.takeEnded(this.#host.databaseNowMs())) {
      const { atMs } = this.#log.write(wait, { lazily: true });
      const valueText = wait.kind === "signalRead" ? wait.valueText : undefined;
      this.#queue.push({ delivery: { ref: wait.ref, atMs, outcome: { ok: true, ...(valueText === undefined ? {} : { valueText }) } } });
    }
  }

  /** Something came to the run from outside. */
  receive(news: RunNews): void {
    if (this.#ended) return;
    if (this.#releasing) return void this.#news.push(news);
    for (const decision of news.decided) this.#decide(decision);
    this.#waits.receive(news.signals);
    this.tick();
  }

  #decide(decision: DecidedHold): void {
    const call = this.#calls.get(decision.seq);
    if (!call || call.state !== "parked" || call.holdId !== decision.holdId) return;
    const { holdId, action, by, reason } = decision;
    const outcome = { Approve: "Approved", Reject: "Rejected" }[action];
    const note = outcome === undefined ? `${action} does not fit what the call waits for` : rejection(by, reason);
    this.#log.write(
      { kind: "resolved", seq: call.seq, holdId, action, by, reason },
      { closedHold: { holdId, outcome: outcome ?? "Withdrawn", note }, project: true },
    );
    call.holdId = undefined;
    call.state = "waiting";
    call.notBeforeMs = 0;
    if (action === "Approve") call.approved = true;
    else if (action === "Reject") this.#fail(call, "Rejected", rejection(by, reason), false);
  }

  /** Cancels the run: what is in flight is cancelled at the servers, and the run ends (semantics 7.7). */
  async cancel(reason: string): Promise<void> {
    if (this.#ended) return;
    await this.#end({ phase: "Cancelled", failure: { code: "Cancelled", message: reason } });
  }

  /** The run is not ours any more: nothing is sent or written from now on. */
  abandon(): void {
    this.#ended = true;
    clearTimeout(this.#timer);
    for (const call of this.#calls.values()) call.abort?.abort();
    this.#script.dispose();
  }

  async #conclude(state: Exclude<TurnState, { kind: "waiting" }>): Promise<void> {
    if (state.kind === "failed") return await this.#end({ phase: "Failed", failure: failureOf(state.error) });
    if (state.unhandled) return await this.#end({ phase: "Failed", failure: unhandledFailure(state.unhandled) });
    await this.#end({ phase: "Succeeded", ...(state.valueText === undefined ? {} : { resultText: state.valueText }) });
  }

  async #stall(state: Extract<TurnState, { kind: "waiting" }>): Promise<void> {
    if (state.unhandled) return await this.#end({ phase: "Failed", failure: unhandledFailure(state.unhandled) });
    const place = state.line === undefined ? {} : { line: state.line };
    await this.#end({ phase: "Failed", failure: { code: "ScriptStalled", message: "the script waits for a promise that nothing can settle", ...place } });
  }

  /** Ends the run at once, whatever is open: a limit was exceeded, or replay went another way. */
  async #breakOff(failure: RunFailure): Promise<void> {
    await this.#end({ phase: "Failed", failure });
  }

  #broken(error: unknown): void {
    this.#host.log.error({ err: error, run: this.run.runId }, "the run cannot be driven any further here");
    if (!this.#ended) this.abandon();
  }

  async #end(how: { phase: RunEnd["phase"]; resultText?: string; failure?: RunFailure }): Promise<void> {
    if (this.#ended) return;
    this.abandon();
    try {
      // Nothing that others see leaves before the rows that it rests on.
      await this.#log.settled();
      await this.#host.finish({
        runId: this.run.runId,
        phase: how.phase,
        callsText: JSON.stringify(this.#counts()),
        ...(how.resultText === undefined ? {} : { resultText: how.resultText }),
        ...(how.failure === undefined ? {} : { errorText: JSON.stringify(how.failure) }),
      });
    } catch (error) {
      this.#host.log.warn({ err: error, run: this.run.runId }, "the run's end could not be recorded; another dispatcher takes it up");
    }
  }

  /** Gives the run back. Nothing starts meanwhile; what comes meanwhile is taken up when it could not be given back. */
  async #release(runnableAtMs: number | undefined): Promise<void> {
    if (this.#releasing) return;
    this.#releasing = true;
    try {
      await this.#log.settled();
      if (!this.#ended && (await this.#host.release(this.#progress(), runnableAtMs))) this.abandon();
    } catch (error) {
      this.#host.log.warn({ err: error, run: this.run.runId }, "the run could not be given back");
      this.abandon();
    } finally {
      this.#releasing = false;
    }
    for (const news of this.#news.splice(0)) this.receive(news);
  }

  #counts(): CallCounts {
    const states = [...this.#calls.values()].map((call) => call.state);
    return {
      total: this.#lastSeq,
      succeeded: this.#succeeded,
      failed: this.#failed,
      parked: states.filter((state) => state === "parked").length,
      inFlight: states.filter((state) => state === "inFlight").length,
    };
  }

  #progress(): RunProgress {
    const calls = [...this.#calls.values()];
    const base = { runId: this.run.runId, callsText: JSON.stringify(this.#counts()) };
    if (calls.some((call) => call.state === "inFlight")) return { ...base, phase: "Running" };
    if (calls.some((call) => call.state === "parked")) return { ...base, phase: "Parked" };
    if (calls.some((call) => call.state === "waiting" && call.unreachableSinceMs !== undefined)) return { ...base, phase: "Waiting", waitingFor: "Server" };
    const dueMs = this.#nextDueMs(calls);
    if (this.#waits.awaitsSignal) return { ...base, phase: "Waiting", waitingFor: "Signal", ...(dueMs === undefined ? {} : { wakeAtMs: dueMs }) };
    return dueMs === undefined ? { ...base, phase: "Running" } : { ...base, phase: "Sleeping", wakeAtMs: dueMs };
  }
}

const LIMIT_CODES = new Set(["MemoryLimit", "CpuLimit", "CallLimit", "JournalLimit"]);

function isLimit(error: ScriptFailure): boolean {
  return LIMIT_CODES.has(error.code);
}

function rejection(by: string, reason: string): string {
  return reason === "" ? `by ${by}` : `by ${by}: ${reason}`;
}

function failureOf(error: ScriptFailure): RunFailure {
  const { callError } = error;
  const call = callError && {
    tool: callError.tool,
    ...(callError.seq === undefined ? {} : { seq: callError.seq }),
    outcomeUnknown: callError.outcomeUnknown,
    attempts: callError.attempts,
  };
  return {
    code: error.code,
    message: error.message,
    ...call,
    ...(error.line === undefined ? {} : { line: error.line }),
    ...(error.column === undefined ? {} : { column: error.column }),
  };
}

function unhandledFailure({ error, line }: { error: CallError; line?: number }): RunFailure {
  return {
    code: "UnhandledToolError",
    message: `nothing handled the failure of ${error.tool} (${error.code}): ${error.message}`,
    tool: error.tool,
    ...(error.seq === undefined ? {} : { seq: error.seq }),
    ...(line === undefined ? {} : { line }),
  };
}
