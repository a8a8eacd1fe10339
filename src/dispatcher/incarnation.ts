import {
  type ClaimedRun,
  claimRuns,
  noteProgress,
  type RunProgress,
  readClaimed,
  readOwnedRuns,
  readWake,
  takeWokenRuns,
  type WokenRun,
} from "../journal/claims.ts";
import { GroupCommit } from "../journal/group-commit.ts";
import { CONTROLLER_CHANNEL, classifyFailure, type Sql, toolsetChannel } from "../journal/sql.ts";
import { readToolsets } from "../journal/toolsets.ts";
import { discover } from "./discover.ts";
import type { DispatcherOptions, DispatcherSpec } from "./dispatcher-spec.ts";
import type { DriverHost } from "./driver-host.ts";
import { type HandedOver, HandOver } from "./hand-over.ts";
import type { Lease } from "./lease.ts";
import { openRun } from "./open-run.ts";
import type { PinnedWorlds } from "./pinned-world.ts";
import { ProgressNotes } from "./progress-notes.ts";
import { readNews } from "./read-news.ts";
import type { RunDriver } from "./run-driver.ts";
import type { ToolSources } from "./tool-sources.ts";

export interface IncarnationSpec extends Omit<DispatcherSpec, "options"> {
  readonly options: DispatcherOptions;
  readonly lease: Lease;
  readonly sources: ToolSources;
  readonly worlds: PinnedWorlds;
}

/** A run that this incarnation owns. The driver is missing while the run is being taken up. */
interface HeldRun extends HandedOver {
  wakeSeen: number;
  /** Whether something came while there was no driver to bring it to. */
  missedNews: boolean;
  driver: RunDriver | undefined;
  isSuperseded: boolean;
}

const CLAIM_COUNT_MAX = 50;
const RETRY_OPEN_MS = 5_000;
/** What is written at the end of an orderly stop gets at least this long, whatever the grace period has left. */
const DRAIN_MS_MIN = 2_000;
/**
 * After an answer of the journal was lost, what it holds of ours is compared with what we hold for this long: longer than a
 * statement of ours can go on there unheard.
 */
const DOUBT_MS = 60_000;

/** A dispatcher under one identity: claims runs, holds them, gives them back, until it is dead or closed. */
export class Incarnation {
  readonly id: string;
  /** Resolves when others marked it dead. */
  readonly ended: Promise<void>;
  readonly #spec: IncarnationSpec;
  readonly #sql: Sql;
  readonly #writer: GroupCommit;
  readonly #held = new Map<string, HeldRun>();
  readonly #notes: ProgressNotes;
  readonly #handOver: HandOver;
  #toolsetName = "";
  #suspended = false;
  #closing = false;
  #pinning = false;
  #looking: Promise<void> | undefined;
  #lookAgain = false;
  #doubtUntilMs = 0;
  /** Called when the last run was let go. */
  #onEmptied: () => void = () => {};
  #timer: NodeJS.Timeout | undefined;
  #unlisten: (() => Promise<void>) | undefined;

  constructor(spec: IncarnationSpec) {
    this.#spec = spec;
    this.#sql = spec.sql;
    this.id = spec.lease.id;
    this.#writer = new GroupCommit(spec.sql, this.id, spec.log, () => spec.sql.notify(CONTROLLER_CHANNEL));
    this.#notes = new ProgressNotes((progress) => this.#note(progress));
    const claimsEnded = async () => await this.#looking;
    this.#handOver = new HandOver({ sql: spec.sql, incarnationId: spec.lease.id, lease: spec.lease, claimsEnded });
    this.ended = spec.lease.ended.then(() => this.#drop());
  }

  start(): void {
    void this.#sql
      .listen(toolsetChannel(this.#spec.toolsetId), () => this.look())
      .then((unlisten) => {
        this.#unlisten = unlisten;
      })
      .catch((error: unknown) =>
        this.#spec.log.warn({ err: error }, "no hints from the journal; polling finds changes"),
      );
    this.look();
  }

  /** Asks the journal for work and news now; several wishes while one look is under way make one more look. */
  look(): void {
    if (this.#looking) {
      this.#lookAgain = true;
      return;
    }
    clearTimeout(this.#timer);
    this.#looking = this.#lookOnce().finally(() => {
      this.#looking = undefined;
      if (this.#spec.lease.dead || (this.#closing && this.#held.size === 0)) return;
      if (this.#lookAgain) {
        this.#lookAgain = false;
        this.look();
      } else this.#timer = setTimeout(() => this.look(), this.#spec.options.pollMs);
    });
  }

  async #lookOnce(): Promise<void> {
    try {
      await this.#lookAtToolset();
      await this.#hearNews();
      if (this.#spec.clock.monotonicMs() < this.#doubtUntilMs) await this.#compare();
      await this.#claim();
    } catch (error) {
      this.#doubt();
      const level = classifyFailure(error) === "unavailable" ? "warn" : "error";
      this.#spec.log[level]({ err: error }, "the journal could not be asked for work");
    }
  }

  async #lookAtToolset(): Promise<void> {
    const [toolset] = await readToolsets(this.#sql, [this.#spec.toolsetId]);
    if (!toolset) return;
    this.#toolsetName = toolset.name;
    const resumed = this.#suspended && !toolset.suspended;
    this.#suspended = toolset.suspended;
    if (resumed) for (const held of this.#held.values()) held.driver?.tick();
    if (toolset.pinWanted <= toolset.pinDone || this.#pinning || this.#closing) return;
    this.#pinning = true;
    void discover({
      sql: this.#sql,
      incarnationId: this.id,
      toolset,
      sources: this.#spec.sources,
      clock: this.#spec.clock,
      log: this.#spec.log,
    })
      .catch((error: unknown) => this.#spec.log.error({ err: error }, "pinning failed"))
      .finally(() => {
        this.#pinning = false;
        this.#sql.notify(CONTROLLER_CHANNEL);
      });
  }

  async #hearNews(): Promise<void> {
    for (const woken of await takeWokenRuns(this.#sql, this.id)) {
      const held = this.#held.get(woken.runId);
      if (held) await this.#bringNews(woken, held);
    }
  }

  /** The answer of a claim or of a look for news may be lost: runs may be ours, and woken, without our knowledge. */
  #doubt(): void {
    this.#doubtUntilMs = this.#spec.clock.monotonicMs() + DOUBT_MS;
  }

  async #compare(): Promise<void> {
    const unknown: string[] = [];
    for (const owned of await readOwnedRuns(this.#sql, this.id)) {
      const held = this.#held.get(owned.runId);
      if (!held) unknown.push(owned.runId);
      else if (owned.wake > held.wakeSeen) await this.#bringNews(owned, held);
    }
    if (unknown.length === 0 || this.#closing || this.#spec.lease.dead) return;
    for (const run of await readClaimed(this.#sql, this.id, unknown)) void this.#hold(run);
  }

  /**
   * Brings a run what came since. Only then does its wake-up count as seen: a release that happens before finds that
   * something came, and does not take place.
   */
  async #bringNews(woken: WokenRun, held: HeldRun): Promise<void> {
    const { driver } = held;
    if (!driver) {
      held.missedNews = true;
      return;
    }
    if (woken.cancelReason !== undefined) return await driver.cancel(woken.cancelReason);
    const news = await readNews(this.#sql, this.#spec.toolsetId, woken.runId, driver.lastSignalNo);
    held.wakeSeen = Math.max(held.wakeSeen, woken.wake);
    driver.receive(news);
  }

  /** Looks at one run alone: it was woken while it was being taken up or given back. */
  async #refresh(runId: string, held: HeldRun): Promise<void> {
    try {
      const woken = await this.#handOver.insist(() => readWake(this.#sql, this.id, runId));
      if (woken) await this.#bringNews(woken, held);
    } catch (error) {
      this.#doubt();
      this.#spec.log.warn({ err: error, run: runId }, "what came to the run could not be read; it is looked at again");
    }
  }

  async #claim(): Promise<void> {
    const free = this.#spec.options.runsMax - this.#held.size;
    if (free <= 0 || this.#closing || this.#suspended || !this.#spec.lease.valid) return;
    const claimed = await claimRuns(this.#sql, this.id, Math.min(free, CLAIM_COUNT_MAX), [...this.#handOver.underWay]);
    for (const run of claimed) void this.#hold(run);
    if (claimed.length === CLAIM_COUNT_MAX) this.#lookAgain = true;
  }

  /** Takes a claimed run up: from here on this process is the only one that acts for it. */
  async #hold(run: ClaimedRun): Promise<void> {
    const held: HeldRun = { wakeSeen: run.wake, missedNews: false, driver: undefined, isSuperseded: false };
    const before = this.#held.get(run.runId);
    if (before) {
      // A claim under way when the release began: one run never has two drivers.
      before.isSuperseded = true;
      before.driver?.abandon();
    }
    this.#held.set(run.runId, held);
    const host = this.#host(run, held);
    try {
      const driver = await openRun(run, {
        ...this.#spec,
        writer: this.#writer,
        host,
        incarnationId: this.id,
        toolsetName: this.#toolsetName,
      });
      if (!driver) return this.#letGo(run.runId, held);
      if (this.#spec.lease.dead) return driver.abandon();
      held.driver = driver;
      if (held.missedNews) await this.#refresh(run.runId, held);
    } catch (error) {
      this.#spec.log.error({ err: error, run: run.runId }, "the run could not be taken up; it is tried again");
      await this.#giveBack(run, held, run.phase);
    }
  }

  /** Gives a run back that has no driver any more, to be taken up anew after a pause, here or elsewhere. */
  async #giveBack(run: ClaimedRun, held: HeldRun, phase: string): Promise<void> {
    const { runId } = run;
    const runnableAtMs = this.#spec.lease.databaseNowMs() + RETRY_OPEN_MS;
    held.driver = undefined;
    try {
      for (let wake: number | undefined = held.wakeSeen; wake !== undefined; ) {
        const seen = wake;
        const progress = { runId, phase };
        const outcome = await this.#handOver.release(held, progress, seen, runnableAtMs);
        if (outcome !== "woken") break;
        // Whoever takes it up next reads what came.
        wake = (await this.#handOver.insist(() => readWake(this.#sql, this.id, runId)))?.wake;
      }
      this.#letGo(runId, held);
    } catch (error) {
      if (!this.#spec.lease.dead) this.#spec.log.error({ err: error, run: runId }, "the run could not be given back");
    }
  }

  #host(run: ClaimedRun, held: HeldRun): DriverHost {
    const { runId } = run;
    return {
      log: this.#spec.log,
      source: (tool) => this.#spec.sources.get(tool.server),
      mayAct: () => this.#spec.lease.untilValid(),
      holdsBack: () => this.#suspended || this.#closing,
      databaseNowMs: () => this.#spec.lease.databaseNowMs(),
      random: Math.random,
      finish: async (end) => {
        await this.#handOver.finish(end);
        this.#letGo(runId, held);
      },
      release: async (progress, runnableAtMs) => {
        // What is seen while the release is tried again counts as not seen: the driver takes nothing in meanwhile.
        const { wakeSeen } = held;
        const outcome = await this.#handOver.release(held, progress, wakeSeen, runnableAtMs);
        if (outcome === "woken") void this.#refresh(runId, held);
        else this.#letGo(runId, held);
        return outcome !== "woken";
      },
      giveUp: () => void this.#giveBack(run, held, "Running"),
      note: (progress) => this.#notes.note(progress),
    };
  }

  #letGo(runId: string, held: HeldRun): void {
    if (this.#held.get(runId) === held) {
      this.#held.delete(runId);
      this.#notes.forget(runId);
      this.#writer.forget(runId);
    }
    this.#sql.notify(CONTROLLER_CHANNEL);
    if (this.#held.size === 0) this.#onEmptied();
    if (this.#held.size < this.#spec.options.runsMax) this.look();
  }

  #note(progress: RunProgress): void {
    if (!this.#held.has(progress.runId)) return;
    void noteProgress(this.#sql, this.id, progress)
      .then(() => this.#sql.notify(CONTROLLER_CHANNEL))
      .catch((error: unknown) =>
        this.#spec.log.warn({ err: error, run: progress.runId }, "the run's progress was not noted"),
      );
  }

  /** Nothing is ours any more: everything in memory is dropped, and nothing is written. */
  #drop(): void {
    clearTimeout(this.#timer);
    void this.#unlisten?.();
    this.#notes.close();
    for (const held of this.#held.values()) held.driver?.abandon();
    this.#held.clear();
    this.#writer.close();
  }

  /** Stops in order: calls in flight get the grace period, then the runs are given back. */
  async close(): Promise<void> {
    this.#closing = true;
    const deadlineMs = this.#spec.clock.monotonicMs() + this.#spec.options.graceMs;
    for (const held of this.#held.values()) held.driver?.tick();
    if (this.#held.size > 0 && !this.#spec.lease.dead) {
      const emptied = new Promise<void>((resolve) => {
        this.#onEmptied = resolve;
      });
      await atMost(this.#spec.options.graceMs, Promise.race([emptied, this.#spec.lease.ended]));
    }
    for (const held of this.#held.values()) held.driver?.abandon();
    this.#held.clear();
    // A database that is away does not keep a process from stopping: what is not committed is recovered.
    const leftMs = Math.max(DRAIN_MS_MIN, deadlineMs - this.#spec.clock.monotonicMs());
    await atMost(leftMs, this.#writer.drained());
    this.#writer.close();
    await this.#spec.lease.retire();
    await this.#looking;
  }
}

/** Waits for something, but not for longer than that. */
function atMost(timeoutMs: number, awaited: Promise<void>): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, timeoutMs);
    void awaited.finally(() => {
      clearTimeout(timer);
      resolve();
    });
  });
}
