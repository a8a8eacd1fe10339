import type { ClaimedRun, RunEnd, RunProgress } from "../journal/claims.ts";
import type { RunFailure } from "../journal/documents.ts";
import type { Command, PrintedLine, Script, TurnState } from "../sandbox/port.ts";
import type { DriverHost, QueuedDelivery, RunNews } from "./driver-host.ts";
import type { RunHistory } from "./history.ts";
import type { PinnedWorld } from "./pinned-world.ts";
import type { OpenTurn, Replayed } from "./replay.ts";
import { RunCalls } from "./run-calls.ts";
import { isLimit, scriptFailure, stalledFailure, unhandledFailure } from "./run-failure.ts";
import type { RunLog } from "./run-log.ts";
import { Waits } from "./waits.ts";

export interface RunDriverSpec {
  readonly run: ClaimedRun;
  readonly host: DriverHost;
  readonly world: PinnedWorld;
  readonly log: RunLog;
  readonly script: Script;
  readonly history: RunHistory;
}

/** A wait longer than this frees the memory: the run is given back and claimed again when it is due. */
const HELD_WAIT_MS_MAX = 2_000;
/** Timers look again at most this much later, so none exceeds what a process's timer can hold (semantics 3.11). */
const TIMER_MS_MAX = 86_400_000;
/** What is due and still cannot go (no slot is free, the Toolset is suspended) is looked at again this much later. */
const BLOCKED_LOOK_MS = 100;

/**
 * Drives one run: hands outcomes to its script one at a time, takes what it asks for, and decides when the run has ended, is
 * stuck, or may be given back. Everything that happens to the run passes through here, in one process, one thing at a time.
 */
export class RunDriver {
  readonly run: ClaimedRun;
  readonly #host: DriverHost;
  readonly #world: PinnedWorld;
  readonly #log: RunLog;
  readonly #script: Script;
  readonly #history: RunHistory;
  readonly #calls: RunCalls;
  readonly #waits: Waits;
  readonly #queue: QueuedDelivery[] = [];
  readonly #news: RunNews[] = [];
  #state: TurnState = { kind: "waiting" };
  #pumping = false;
  #ended = false;
  #releasing = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(spec: RunDriverSpec) {
    this.run = spec.run;
    this.#host = spec.host;
    this.#world = spec.world;
    this.#log = spec.log;
    this.#script = spec.script;
    this.#history = spec.history;
    this.#waits = new Waits(spec.history.readSignalNos);
    this.#calls = new RunCalls({
      ...spec,
      runId: spec.run.runId,
      deliver: (delivery) => this.#queue.push(delivery),
      onAttemptEnded: () => this.#goOn(),
      onLost: (error) => this.#giveUp(error),
    });
  }

  /** The number of the newest signal it knows of. */
  get lastSignalNo(): number {
    return this.#waits.lastSignalNo;
  }

  /** Takes the run up where its log ends: calls that the log holds go on, and what was lost is recorded anew. */
  begin(replayed: Replayed, news: RunNews): void {
    this.#print(replayed.newLines);
    this.#state = replayed.lastTurn.state;
    this.#calls.recallSettledOfLastStep();
    for (const turn of replayed.openTurns) this.#takeOpenTurn(turn);
    this.receive(news);
  }

  #takeOpenTurn(turn: OpenTurn): void {
    const isRecorded = (command: Command) => this.#history.callsByRef.has(command.ref);
    for (const command of turn.commands.filter(isRecorded)) this.#calls.recall(command.ref);
    this.#takeCommands(
      turn.commands.filter((command) => !isRecorded(command)),
      turn.atMs,
    );
  }

  #takeCommands(commands: readonly Command[], atMs: number): void {
    if (commands.some((command) => command.kind === "call")) this.#calls.beginStep();
    for (const command of commands) {
      if (command.kind !== "call") this.#waits.add(command, atMs);
      else if (!this.#calls.take(command)) {
        const message = `the script made more than ${this.#world.limits.calls} calls`;
        return void this.#end({ phase: "Failed", failure: { code: "CallLimit", message } });
      }
    }
  }

  #goOn(): void {
    if (this.#ended || this.#releasing) return;
    this.#calls.advance();
    if (this.#queue.length > 0) this.#pump();
    else this.#rest();
  }

  /** Hands what waits to the script, one delivery at a time, its job queue drained in between (semantics 3.6). */
  #pump(): void {
    if (this.#pumping || this.#ended) return;
    this.#pumping = true;
    void this.#pumpAll()
      .catch((error: unknown) => this.#giveUp(error))
      .finally(() => {
        this.#pumping = false;
        this.#rest();
      });
  }

  async #pumpAll(): Promise<void> {
    for (let next = this.#queue.shift(); next && !this.#ended; next = this.#queue.shift()) {
      await next.committed;
      if (this.#ended || this.#state.kind === "failed") continue;
      const turn = await this.#script.deliver(next.delivery);
      if (this.#ended) return;
      this.#print(turn.printed);
      this.#state = turn.state;
      this.#takeCommands(turn.commands, next.delivery.atMs);
      if (this.#log.bytes > this.#world.limits.journalBytes) return this.#exceedJournal();
      this.#calls.advance();
      this.#endWaits();
      this.#log.flush();
    }
  }

  /** Lets go of the run where it stands: what is committed is what whoever takes it up next goes on from. */
  #giveUp(error: unknown): void {
    if (this.#ended) return;
    this.#host.log.warn({ err: error, run: this.run.runId }, "the run cannot be driven any further here");
    this.abandon();
    void this.#log
      .settled()
      .catch(() => {})
      .then(() => this.#host.giveUp());
  }

  #exceedJournal(): void {
    const message = `the run's calls and results take more than ${this.#world.limits.journalBytes} bytes of the journal`;
    void this.#end({ phase: "Failed", failure: { code: "JournalLimit", message } });
  }

  #print(lines: readonly PrintedLine[]): void {
    if (lines.length > 0) this.#log.write({ kind: "printed", lines }, { lazily: true });
  }

  /** The script is idle: has the run ended, is it stuck, may it be given back? */
  #rest(): void {
    if (this.#ended || this.#pumping || this.#releasing) return;
    if (this.#queue.length > 0) return this.#pump();
    this.#log.flush();
    const state = this.#state;
    const open = this.#calls.open;
    if (state.kind === "failed" && isLimit(state.error)) return this.#conclude(state);
    if (state.kind !== "waiting" && open.length === 0) return this.#conclude(state);
    if (state.kind === "waiting" && open.length === 0 && this.#waits.count === 0) {
      const failure = state.unhandled ? unhandledFailure(state.unhandled) : stalledFailure(state.line);
      return void this.#end({ phase: "Failed", failure });
    }
    this.#setTimer();
    if (this.#calls.inFlight || this.#isDueSoon()) return this.#host.note(this.#progress());
    void this.#release();
  }

  #conclude(state: Exclude<TurnState, { kind: "waiting" }>): void {
    if (state.kind === "failed") return void this.#end({ phase: "Failed", failure: scriptFailure(state.error) });
    if (state.unhandled) return void this.#end({ phase: "Failed", failure: unhandledFailure(state.unhandled) });
    void this.#end({ phase: "Succeeded", ...(state.valueText === undefined ? {} : { resultText: state.valueText }) });
  }

  /** When something of this run is due by itself; undefined when only others can bring it on. */
  #nextDueMs(): number | undefined {
    const times = [this.#calls.nextDueMs, this.#waits.earliestMs].filter((time) => time !== undefined);
    return times.length === 0 ? undefined : Math.min(...times);
  }

  #isDueSoon(): boolean {
    const dueMs = this.#nextDueMs();
    return !this.#host.holdsBack() && dueMs !== undefined && dueMs - this.#host.databaseNowMs() <= HELD_WAIT_MS_MAX;
  }

  #setTimer(): void {
    clearTimeout(this.#timer);
    const dueMs = this.#nextDueMs();
    if (dueMs === undefined || this.#ended) return;
    const leftMs = dueMs - this.#host.databaseNowMs();
    this.#timer = setTimeout(() => this.tick(), Math.min(leftMs > 0 ? leftMs : BLOCKED_LOOK_MS, TIMER_MS_MAX));
  }

  /** Looks at the clock: what is due goes on. While the run is being given back nothing starts. */
  tick(): void {
    if (this.#ended || this.#releasing) return;
    this.#endWaits();
    this.#goOn();
  }

  #endWaits(): void {
    for (const wait of this.#waits.takeEnded(this.#host.databaseNowMs())) {
      const { atMs } = this.#log.write(wait, { lazily: true });
      const valueText = wait.kind === "signalRead" ? wait.valueText : undefined;
      const outcome = { ok: true, ...(valueText === undefined ? {} : { valueText }) } as const;
      this.#queue.push({ delivery: { ref: wait.ref, atMs, outcome } });
    }
  }

  /** Something came to the run from outside. */
  receive(news: RunNews): void {
    if (this.#ended) return;
    if (this.#releasing) return void this.#news.push(news);
    for (const decision of news.decided) this.#calls.decide(decision);
    this.#waits.receive(news.signals);
    this.tick();
  }

  /** Cancels the run: what is in flight is cancelled at the servers, and the run ends (semantics 7.7). */
  async cancel(reason: string): Promise<void> {
    await this.#end({ phase: "Cancelled", failure: { code: "Cancelled", message: reason } });
  }

  /** The run is not ours any more: nothing is sent or written from now on. */
  abandon(): void {
    this.#ended = true;
    clearTimeout(this.#timer);
    this.#calls.stop();
    this.#script.dispose();
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
        callsText: JSON.stringify(this.#calls.counts),
        ...(how.resultText === undefined ? {} : { resultText: how.resultText }),
        ...(how.failure === undefined ? {} : { errorText: JSON.stringify(how.failure) }),
      });
    } catch (error) {
      this.#host.log.warn(
        { err: error, run: this.run.runId },
        "the run's end could not be recorded; it is taken up anew",
      );
      this.#host.giveUp();
    }
  }

  /** Gives the run back. Nothing starts meanwhile; what comes meanwhile is taken up when it could not be given back. */
  async #release(): Promise<void> {
    this.#releasing = true;
    try {
      await this.#log.settled();
      // What came while the log was written would be dropped with this driver.
      const mayGo = !this.#ended && this.#news.length === 0;
      if (mayGo && (await this.#host.release(this.#progress(), this.#claimableAtMs()))) this.abandon();
    } catch (error) {
      this.#giveUp(error);
    } finally {
      this.#releasing = false;
    }
    for (const news of this.#news.splice(0)) this.receive(news);
  }

  /** When the run may be claimed again. A call that is only held back is due at once: a suspended Toolset claims no run. */
  #claimableAtMs(): number | undefined {
    const heldBack = this.#host.holdsBack() && this.#calls.open.some((call) => call.state === "waiting");
    return this.#nextDueMs() ?? (heldBack ? this.#host.databaseNowMs() : undefined);
  }

  #progress(): RunProgress {
    const base = { runId: this.run.runId, callsText: JSON.stringify(this.#calls.counts) };
    const open = this.#calls.open;
    if (open.some((call) => call.state === "inFlight")) return { ...base, phase: "Running" };
    if (open.some((call) => call.state === "parked")) return { ...base, phase: "Parked" };
    if (open.some((call) => call.unreachableSinceMs !== undefined))
      return { ...base, phase: "Waiting", waitingFor: "Server" };
    const dueMs = this.#nextDueMs();
    const wake = dueMs === undefined ? {} : { wakeAtMs: dueMs };
    if (this.#waits.awaitsSignal) return { ...base, phase: "Waiting", waitingFor: "Signal", ...wake };
    return { ...base, phase: dueMs === undefined ? "Running" : "Sleeping", ...wake };
  }
}
