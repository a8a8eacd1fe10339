import { HoldpointError } from "../base/errors.ts";
import type { Logger } from "../base/log.ts";
import { appendRecords, type PendingRecord } from "./append.ts";
import { classifyFailure, type Sql } from "./sql.ts";

const BATCH_ROWS_MAX = 500;
/** Characters of payload in one statement: enough to fill a batch of ordinary calls, small beside the protocol's 1 GiB. */
const BATCH_CHARACTERS_MAX = 8 * 1024 * 1024;
/** An answer that waits for the script's next intent, to share its commit, waits no longer than this. */
const COMPANY_WAIT_MS = 5;
const RETRY_PAUSE_MS = 200;

interface Waiting {
  readonly pending: PendingRecord;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

/**
 * Group commit: all records that wait, of all runs of the process, go into one statement on one connection; while it is
 * under way the next batch fills. So no timer is needed and a lone run waits for nothing. Records are written in the order
 * in which they were given, so a row is committed only with or after every smaller n of its run.
 *
 * When the database is away the batch is kept and written when it is back. A promise is rejected only when the run is not
 * ours any more (`LeaseLost`) or when the database refuses the run's content.
 */
export class GroupCommit {
  readonly #sql: Sql;
  readonly #incarnationId: string;
  readonly #log: Logger;
  #queue: Waiting[] = [];
  #writing: Promise<void> | undefined;
  #companyTimer: NodeJS.Timeout | undefined;
  #closed = false;
  #away = false;
  /** Runs whose records were refused: a later record would stand behind a gap. */
  readonly #refusedRuns = new Map<string, Error>();

  readonly #onProjected: () => void;

  /** @param onProjected called after a commit that queued a status to be written */
  constructor(sql: Sql, incarnationId: string, log: Logger, onProjected: () => void) {
    this.#sql = sql;
    this.#incarnationId = incarnationId;
    this.#log = log;
    this.#onProjected = onProjected;
  }

  /**
   * Queues a record and starts writing at once.
   * @returns resolves once it is committed
   */
  append(pending: PendingRecord): Promise<void> {
    const committed = this.#enqueue(pending);
    this.flush();
    return committed;
  }

  /** Queues a record that waits, up to a few milliseconds, for another one to share its commit; `flush` ends the wait. */
  appendLazily(pending: PendingRecord): Promise<void> {
    const committed = this.#enqueue(pending);
    this.#companyTimer ??= setTimeout(() => this.flush(), COMPANY_WAIT_MS);
    return committed;
  }

  #enqueue(pending: PendingRecord): Promise<void> {
    const refusal = this.#closed ? leaseLost(pending.runId) : this.#refusedRuns.get(pending.runId);
    const committed = refusal
      ? Promise.reject(refusal)
      : new Promise<void>((resolve, reject) => this.#queue.push({ pending, resolve, reject }));
    // Who does not wait for a commit learns of a lost lease elsewhere; that must not end the process.
    committed.catch(() => {});
    return committed;
  }

  /** Forgets a run that this process holds no longer. */
  forget(runId: string): void {
    this.#refusedRuns.delete(runId);
  }

  /** Starts writing what waits. */
  flush(): void {
    clearTimeout(this.#companyTimer);
    this.#companyTimer = undefined;
    if (this.#queue.length === 0) return;
    this.#writing ??= this.#writeAll().finally(() => {
      this.#writing = undefined;
    });
  }

  /** Resolves when everything queued until now is committed or refused. */
  async drained(): Promise<void> {
    this.flush();
    await this.#writing;
  }

  /** Stops trying: what waits is rejected. Called when the incarnation is dead, and at the end of an orderly stop. */
  close(): void {
    this.#closed = true;
    clearTimeout(this.#companyTimer);
    if (!this.#writing) this.#rejectQueue();
  }

  #rejectQueue(): void {
    const queue = this.#queue;
    this.#queue = [];
    for (const waiting of queue) waiting.reject(leaseLost(waiting.pending.runId));
  }

  async #writeAll(): Promise<void> {
    // One microtask later: records that one event brings in together share a batch.
    await Promise.resolve();
    while (this.#queue.length > 0 && !this.#closed) await this.#writeBatch(this.#takeBatch());
    if (this.#closed) this.#rejectQueue();
  }

  #takeBatch(): Waiting[] {
    let characters = 0;
    let count = 0;
    for (const { pending } of this.#queue) {
      characters += payloadCharacters(pending);
      if (count > 0 && (characters > BATCH_CHARACTERS_MAX || count >= BATCH_ROWS_MAX)) break;
      count += 1;
    }
    return this.#queue.splice(0, count);
  }

  async #writeBatch(batch: Waiting[]): Promise<void> {
    while (!this.#closed) {
      try {
        const owned = await appendRecords(
          this.#sql,
          this.#incarnationId,
          batch.map(({ pending }) => pending),
        );
        this.#back();
        if (batch.some(({ pending }) => pending.project)) this.#onProjected();
        for (const waiting of batch) {
          if (owned.has(waiting.pending.runId)) waiting.resolve();
          else waiting.reject(leaseLost(waiting.pending.runId));
        }
        return;
      } catch (error) {
        if (classifyFailure(error) !== "unavailable") return await this.#writeApart(batch, error as Error);
        this.#gone(error as Error);
        await pause(RETRY_PAUSE_MS);
      }
    }
    for (const waiting of batch) waiting.reject(leaseLost(waiting.pending.runId));
  }

  /** Content that the database refuses fails its own run alone: the batch is written again run by run. */
  async #writeApart(batch: Waiting[], error: Error): Promise<void> {
    const runIds = [...new Set(batch.map(({ pending }) => pending.runId))];
    if (runIds.length > 1) {
      for (const runId of runIds) await this.#writeBatch(batch.filter(({ pending }) => pending.runId === runId));
      return;
    }
    this.#log.error({ err: error, run: runIds[0] }, "the journal refuses a run's records");
    this.#refusedRuns.set(runIds[0] ?? "", error);
    for (const waiting of batch) waiting.reject(error);
  }

  #gone(error: Error): void {
    if (!this.#away) this.#log.warn({ err: error }, "the journal does not answer; writes wait until it does");
    this.#away = true;
  }

  #back(): void {
    if (this.#away) this.#log.info("the journal answers again");
    this.#away = false;
  }
}

function payloadCharacters({ record }: PendingRecord): number {
  if (record.kind === "called") return record.argumentsText.length;
  if (record.kind === "settled" && record.outcome.ok) return record.outcome.valueText?.length ?? 0;
  return 256;
}

function leaseLost(runId: string): HoldpointError {
  return new HoldpointError("LeaseLost", `run ${runId} belongs to another dispatcher now`);
}

function pause(delayMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, delayMs));
}
