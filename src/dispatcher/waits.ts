import type { UnreadSignal } from "../journal/holds.ts";
import type { Command } from "../sandbox/port.ts";

/** A wait that is over. */
export type EndedWait =
  | { readonly kind: "slept"; readonly ref: number }
  | {
      readonly kind: "signalRead";
      readonly ref: number;
      readonly signalNo: number | undefined;
      readonly valueText: string | undefined;
    };

interface SignalWait {
  readonly ref: number;
  readonly name: string;
  readonly untilMs: number | undefined;
}

/** What a run waits for besides calls: the sleeps and signals that its script asked for, by the database's clock. */
export class Waits {
  readonly #sleeps = new Map<number, number>();
  readonly #signals: SignalWait[] = [];
  readonly #unread: UnreadSignal[] = [];
  readonly #read: ReadonlySet<number>;
  #lastSignalNo = 0;

  /** @param read the numbers of the signals that the script was told already */
  constructor(read: ReadonlySet<number>) {
    this.#read = read;
  }

  /** The number of the newest signal that was fetched: only later ones are news. */
  get lastSignalNo(): number {
    return this.#lastSignalNo;
  }

  get count(): number {
    return this.#sleeps.size + this.#signals.length;
  }

  get awaitsSignal(): boolean {
    return this.#signals.length > 0;
  }

  /** @param nowMs what the script's clock said when it asked: a signal's time-out counts from there, also on replay */
  add(command: Extract<Command, { kind: "sleep" | "signal" }>, nowMs: number): void {
    if (command.kind === "sleep") this.#sleeps.set(command.ref, command.untilMs);
    else {
      const untilMs = command.timeoutMs === undefined ? undefined : nowMs + command.timeoutMs;
      this.#signals.push({ ref: command.ref, name: command.name, untilMs });
    }
  }

  receive(signals: readonly UnreadSignal[]): void {
    for (const signal of signals) {
      if (signal.signalNo <= this.#lastSignalNo) continue;
      if (!this.#read.has(signal.signalNo)) this.#unread.push(signal);
      this.#lastSignalNo = signal.signalNo;
    }
  }

  /** When the earliest of them ends by itself. */
  get earliestMs(): number | undefined {
    const times = [...this.#sleeps.values(), ...this.#signals.flatMap((wait) => wait.untilMs ?? [])];
    return times.length === 0 ? undefined : Math.min(...times);
  }

  /** Takes out what is over at `nowMs`: signals before time-outs, so that a signal that came in time counts. */
  takeEnded(nowMs: number): EndedWait[] {
    const ended: EndedWait[] = [];
    for (const wait of [...this.#signals]) {
      const index = this.#unread.findIndex((signal) => signal.name === wait.name);
      const [signal] = index < 0 ? [] : this.#unread.splice(index, 1);
      const timedOut = wait.untilMs !== undefined && wait.untilMs <= nowMs;
      if (!signal && !timedOut) continue;
      this.#signals.splice(this.#signals.indexOf(wait), 1);
      ended.push({ kind: "signalRead", ref: wait.ref, signalNo: signal?.signalNo, valueText: signal?.payloadText });
    }
    for (const [ref, untilMs] of [...this.#sleeps].sort((left, right) => left[1] - right[1])) {
      if (untilMs > nowMs) continue;
      this.#sleeps.delete(ref);
      ended.push({ kind: "slept", ref });
    }
    return ended;
  }
}
