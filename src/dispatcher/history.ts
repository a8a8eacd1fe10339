import { type LogEntry, recordBytes, type SettledOutcome } from "../journal/log-records.ts";
import type { Outcome } from "../sandbox/port.ts";

/** A call as the log knows it, by its last entry. */
export interface RecordedCall {
  readonly ref: number;
  readonly seq: number;
  readonly tool: string;
  readonly digest: string;
  readonly step: number;
  readonly argumentsText: string;
  readonly state: RecordedCallState;
  /** Sends so far, those that certainly did not arrive not counted (semantics 5.3). */
  readonly attempts: number;
  /** Whether somebody approved it: an approval outlives everything that happens to the call later. */
  readonly approved: boolean;
  /** How often it was parked. */
  readonly parkings: number;
  /** When the server was first found unreachable, since the call last got through. */
  readonly unreachableSinceMs?: number;
}

export type RecordedCallState =
  /** Never sent, or certainly never arrived: it goes on waiting, under every policy. */
  | { readonly kind: "waiting"; readonly notBeforeMs: number }
  /** Its last entry is a send: nobody knows whether it ran (journal.md, "In doubt"). */
  | { readonly kind: "inDoubt" }
  | { readonly kind: "parked"; readonly holdId: string; readonly reason: string }
  /** Somebody rejected it, and the script was not told yet. */
  | { readonly kind: "rejected"; readonly by: string; readonly reason: string }
  /** Somebody said what its result was, and the script was not told yet. */
  | { readonly kind: "answered"; readonly valueText: string }
  | { readonly kind: "settled" };

/** What the script was told, in order. */
export interface RecordedDelivery {
  readonly ref: number;
  readonly atMs: number;
  readonly outcome: Outcome;
}

/** A run's log, folded: what it asked for, what it was told, and where each call stands. */
export interface RunHistory {
  readonly callsByRef: ReadonlyMap<number, RecordedCall>;
  readonly refusedRefs: ReadonlySet<number>;
  readonly deliveries: readonly RecordedDelivery[];
  readonly lastN: number;
  readonly lastSeq: number;
  readonly lastStep: number;
  /** The largest ref that has an entry: a call command at or below it that has none was made in another order than recorded. */
  readonly lastRecordedRef: number;
  readonly lastAtMs: number;
  readonly printedLines: number;
  /** About what it takes in the journal. */
  readonly bytes: number;
  readonly readSignalNos: ReadonlySet<number>;
  readonly succeeded: number;
  readonly failed: number;
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

function resolvedState(entry: Extract<LogEntry, { kind: "resolved" }>): RecordedCallState {
  if (entry.action === "Reject") return { kind: "rejected", by: entry.by, reason: entry.reason };
  if (entry.action === "Answer") return { kind: "answered", valueText: entry.answersText ?? "null" };
  return { kind: "waiting", notBeforeMs: 0 };
}

/** Folds a run's log, entry by entry in the order of n. Pure: the same entries give the same history. */
export class HistoryFold {
  readonly #calls = new Map<number, Mutable<RecordedCall>>();
  readonly #bySeq = new Map<number, Mutable<RecordedCall>>();
  readonly #refused = new Set<number>();
  readonly #deliveries: RecordedDelivery[] = [];
  #lastN = 0;
  #lastSeq = 0;
  #lastStep = 0;
  #lastRef = 0;
  #lastAtMs = 0;
  #printed = 0;
  #bytes = 0;
  readonly #readSignalNos = new Set<number>();
  #succeeded = 0;
  #failed = 0;

  /** @throws RangeError for an entry about a call that the log does not hold: the log is damaged */
  add(entry: LogEntry): void {
    this.#lastN = entry.n;
    this.#bytes += recordBytes(entry);
    this.#lastAtMs = Math.max(this.#lastAtMs, entry.atMs);
    switch (entry.kind) {
      case "called":
        return this.#called(entry);
      case "settled":
        return this.#settled(entry);
      case "refused":
        this.#refused.add(entry.ref);
        this.#lastRef = Math.max(this.#lastRef, entry.ref);
        return this.#tell(entry.ref, entry.atMs, { ok: false, error: entry.error });
      case "slept":
        return this.#tell(entry.ref, entry.atMs, { ok: true });
      case "signalRead":
        if (entry.signalNo !== undefined) this.#readSignalNos.add(entry.signalNo);
        return this.#tell(entry.ref, entry.atMs, {
          ok: true,
          ...(entry.valueText === undefined ? {} : { valueText: entry.valueText }),
        });
      case "printed":
        this.#printed += entry.lines.length;
        return;
      case "lateResult":
        return;
      default:
        return this.#lifeOfCall(entry);
    }
  }

  #called(entry: Extract<LogEntry, { kind: "called" }>): void {
    const { ref, seq, tool, digest, step, argumentsText } = entry;
    const call: Mutable<RecordedCall> = {
      ref,
      seq,
      tool,
      digest,
      step,
      argumentsText,
      state: entry.sent ? { kind: "inDoubt" } : { kind: "waiting", notBeforeMs: 0 },
      attempts: entry.sent ? 1 : 0,
      approved: false,
      parkings: 0,
    };
    this.#calls.set(ref, call);
    this.#bySeq.set(seq, call);
    this.#lastSeq = Math.max(this.#lastSeq, seq);
    this.#lastStep = Math.max(this.#lastStep, step);
    this.#lastRef = Math.max(this.#lastRef, ref);
  }

  #settled(entry: Extract<LogEntry, { kind: "settled" }>): void {
    const call = this.#call(entry.seq);
    call.state = { kind: "settled" };
    if (entry.outcome.ok) this.#succeeded += 1;
    else this.#failed += 1;
    this.#tell(entry.ref, entry.atMs, entry.outcome);
  }

  #lifeOfCall(entry: Extract<LogEntry, { kind: "sent" | "notSent" | "interrupted" | "parked" | "resolved" }>): void {
    const call = this.#call(entry.seq);
    if (call.state.kind === "settled") return;
    switch (entry.kind) {
      case "sent":
        call.attempts = entry.attempt;
        call.state = { kind: "inDoubt" };
        return;
      case "notSent":
        call.attempts = entry.attempt - 1;
        call.unreachableSinceMs ??= entry.atMs;
        call.state = { kind: "waiting", notBeforeMs: entry.retryAtMs };
        return;
      case "interrupted":
        delete call.unreachableSinceMs;
        call.state = { kind: "waiting", notBeforeMs: entry.retryAtMs };
        return;
      case "parked":
        call.parkings += 1;
        call.state = { kind: "parked", holdId: entry.holdId, reason: entry.reason };
        return;
      case "resolved":
        if (entry.action === "Approve") call.approved = true;
        call.state = resolvedState(entry);
        return;
    }
  }

  #call(seq: number): Mutable<RecordedCall> {
    const call = this.#bySeq.get(seq);
    if (!call) throw new RangeError(`the log speaks of call ${seq}, which it does not hold`);
    return call;
  }

  #tell(ref: number, atMs: number, outcome: SettledOutcome): void {
    this.#deliveries.push({ ref, atMs, outcome });
  }

  history(): RunHistory {
    return {
      callsByRef: this.#calls,
      refusedRefs: this.#refused,
      deliveries: this.#deliveries,
      lastN: this.#lastN,
      lastSeq: this.#lastSeq,
      lastStep: this.#lastStep,
      lastRecordedRef: this.#lastRef,
      lastAtMs: this.#lastAtMs,
      printedLines: this.#printed,
      bytes: this.#bytes,
      readSignalNos: this.#readSignalNos,
      succeeded: this.#succeeded,
      failed: this.#failed,
    };
  }
}
