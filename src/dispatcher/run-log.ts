import type { ClosedHold, NewHold } from "../journal/append.ts";
import type { GroupCommit } from "../journal/group-commit.ts";
import { type LogRecord, recordBytes } from "../journal/log-records.ts";

/** A record that was given its place in the log. */
export interface Written {
  readonly atMs: number;
  /** Resolves once it is committed; rejects when the run is not ours any more. */
  readonly committed: Promise<void>;
}

export interface WriteOptions {
  /** Waits a moment for the script's next intent, to share its commit. */
  readonly lazily?: boolean;
  readonly hold?: NewHold;
  readonly closedHold?: ClosedHold;
  readonly project?: boolean;
}

/** The log of one run, in the hands of its owner: gives each record its n and a time that never goes back. */
export class RunLog {
  readonly #writer: GroupCommit;
  readonly #runId: string;
  readonly #nowMs: () => number;
  #lastN: number;
  #lastAtMs: number;
  #bytes: number;
  #last: Promise<void> = Promise.resolve();

  constructor(
    writer: GroupCommit,
    runId: string,
    nowMs: () => number,
    from: { lastN: number; lastAtMs: number; bytes: number },
  ) {
    this.#writer = writer;
    this.#runId = runId;
    this.#nowMs = nowMs;
    this.#lastN = from.lastN;
    this.#lastAtMs = from.lastAtMs;
    this.#bytes = from.bytes;
  }

  /** The time that the next record would get. */
  nowMs(): number {
    return Math.max(this.#lastAtMs, this.#nowMs());
  }

  /** About what the run takes in the journal, in bytes. */
  get bytes(): number {
    return this.#bytes;
  }

  write(record: LogRecord, options: WriteOptions = {}): Written {
    this.#lastN += 1;
    this.#bytes += recordBytes(record);
    this.#lastAtMs = this.nowMs();
    const { lazily, ...rest } = options;
    const pending = { runId: this.#runId, n: this.#lastN, atMs: this.#lastAtMs, record, ...rest };
    this.#last = lazily ? this.#writer.appendLazily(pending) : this.#writer.append(pending);
    return { atMs: this.#lastAtMs, committed: this.#last };
  }

  /** Starts writing what was given lazily. */
  flush(): void {
    this.#writer.flush();
  }

  /** Resolves once everything written so far is committed: rows are committed in order. */
  async settled(): Promise<void> {
    this.flush();
    await this.#last;
  }
}
