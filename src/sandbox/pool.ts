import { availableParallelism } from "node:os";
import { cpuLimit } from "./instance.ts";
import type { Delivery, SandboxPool, Script, ScriptSpec, StartedScript, Turn } from "./port.ts";
import { SandboxThread } from "./sandbox-thread.ts";
import type { StepAnswer } from "./worker-messages.ts";

/** How a pool divides its work. All have defaults. */
export interface SandboxPoolOptions {
  /** Threads that many scripts share. */
  readonly sharedThreads?: number;
  /** Threads for scripts that compute, at most one script each until there are this many. */
  readonly ownThreadsMax?: number;
  /** CPU time of a turn after which a script is moved to a thread of its own (semantics 3.5). */
  readonly sharedTurnMs?: number;
  /** Characters of deliveries that are remembered, by reference, to rebuild scripts after a thread was lost. */
  readonly rememberedCharsMax?: number;
}

/** The script's instance was lost, and too much had been told to remember it. Start it anew and tell it the journal. */
export class ScriptLost extends Error {
  override readonly name = "ScriptLost";
}

const SHARED_TURN_MS = 50;
const OWN_THREADS_MAX = 8;
const REMEMBERED_CHARS_MAX = 256 * 1_048_576;
const WATCH_INTERVAL_MS = 20;
/** How far a native operation may overshoot its turn's budget before its thread is ended. */
const SHARED_GRACE_MS = 50;
const OWN_GRACE_MS = 250;
/** Threads that died under one script before it is given up. */
const DEATHS_MAX = 3;
/** Threads in a row that died while a script waited for its turn there, before its caller is told. */
const LOSSES_MAX = 10;
/** Runs known to need a thread of their own, so that one that is started again does not begin on a shared one. */
const HEAVY_RUNS_MAX = 10_000;

/**
 * A pool of worker threads. Light scripts share a few; one that uses more than 50 ms in a turn is rebuilt on a thread of its
 * own, by telling it again what it was told, as are the others of a thread that had to be ended. Callers see none of it.
 */
export function createSandboxPool(options: SandboxPoolOptions = {}): SandboxPool {
  return new Pool(options);
}

class Pool implements SandboxPool {
  readonly #options: Required<SandboxPoolOptions>;
  readonly #scripts = new Map<number, PooledScript>();
  readonly #heavyRuns = new Set<string>();
  readonly #shared: SandboxThread[] = [];
  readonly #own: SandboxThread[] = [];
  #idLast = 0;
  #rememberedChars = 0;
  #pendingCount = 0;
  #watchTimer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(options: SandboxPoolOptions) {
    this.#options = {
      sharedThreads: Math.max(1, Math.min(4, availableParallelism() - 1)),
      ownThreadsMax: OWN_THREADS_MAX,
      sharedTurnMs: SHARED_TURN_MS,
      rememberedCharsMax: REMEMBERED_CHARS_MAX,
      ...options,
    };
  }

  async start(spec: ScriptSpec): Promise<StartedScript> {
    this.#idLast = this.#idLast >= 0x7ffffffe ? 1 : this.#idLast + 1;
    const script = new PooledScript(this.#idLast, spec, this);
    script.isHeavy = this.#heavyRuns.has(spec.runId);
    this.#scripts.set(script.id, script);
    const firstTurn = await this.$ask(script);
    return { script, firstTurn };
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#watchTimer);
    for (const script of this.#scripts.values()) script.dispose();
    await Promise.all([...this.#shared, ...this.#own].map((thread) => thread.close()));
    this.#shared.length = 0;
    this.#own.length = 0;
  }

  /** Runs the script's last step: the delivery that came last, or its start. */
  $ask(script: PooledScript): Promise<Turn> {
    if (this.#isClosed) return Promise.reject(new ScriptLost("the sandbox pool is closed"));
    return new Promise((resolve, reject) => {
      script.pending = { resolve, reject };
      this.#waitFor(1);
      this.#send(script);
    });
  }

  /** Remembers a delivery for rebuilding, or gives up this script's memory when there is no room left. */
  $remember(script: PooledScript, delivery: Delivery): void {
    const { outcome } = delivery;
    const chars = 100 + ((outcome.ok ? outcome.valueText : outcome.error.detailsText)?.length ?? 0);
    if (script.told === undefined) return;
    if (this.#rememberedChars + chars > this.#options.rememberedCharsMax) {
      this.#forget(script);
      return;
    }
    this.#rememberedChars += chars;
    script.toldChars += chars;
    script.told.push(delivery);
  }

  #forget(script: PooledScript): void {
    this.#rememberedChars -= script.toldChars;
    script.toldChars = 0;
    script.told = undefined;
  }

  $dispose(script: PooledScript): void {
    if (!this.#scripts.delete(script.id)) return;
    this.#forget(script);
    const { thread } = script;
    thread?.post({ kind: "drop", scriptId: script.id });
    this.#leave(script);
    this.#settle(script, (pending) => pending.reject(new ScriptLost("the script was disposed of")));
  }

  #send(script: PooledScript): void {
    const { thread, last } = script;
    if (thread !== undefined && last !== undefined) {
      this.#post(script, thread, { deliveries: [last] });
      return;
    }
    if (script.told === undefined) {
      this.#giveUp(script);
      return;
    }
    const chosen = script.isHeavy ? this.#ownThread() : this.#sharedThread();
    chosen.scriptIds.add(script.id);
    script.thread = chosen;
    this.#post(script, chosen, { spec: script.spec, deliveries: script.told });
  }

  #giveUp(script: PooledScript): void {
    this.#settle(script, (pending) => pending.reject(new ScriptLost("the script's instance was lost")));
    script.dispose();
  }

  #post(
    script: PooledScript,
    thread: SandboxThread,
    step: { spec?: ScriptSpec; deliveries: readonly Delivery[] },
  ): void {
    const { cpuMs } = script.spec.limits;
    const budgetMs = thread.isShared ? Math.min(this.#options.sharedTurnMs, cpuMs) : cpuMs;
    thread.post({ kind: "step", scriptId: script.id, budgetMs, ...step });
  }

  #sharedThread(): SandboxThread {
    if (this.#shared.length < this.#options.sharedThreads) {
      const idle = this.#shared.find((thread) => thread.scriptIds.size === 0);
      return idle ?? this.#newThread(this.#shared, true);
    }
    return leastLoaded(this.#shared);
  }

  #ownThread(): SandboxThread {
    const free = this.#own.find((thread) => thread.scriptIds.size === 0);
    if (free !== undefined) return free;
    if (this.#own.length < this.#options.ownThreadsMax) return this.#newThread(this.#own, false);
    return leastLoaded(this.#own);
  }

  #newThread(list: SandboxThread[], isShared: boolean): SandboxThread {
    const thread = new SandboxThread(isShared, {
      answered: (from, answer) => this.#answered(from, answer),
      died: (from, culpritId) => this.#died(from, culpritId),
    });
    thread.hold(this.#pendingCount > 0);
    list.push(thread);
    return thread;
  }

  #answered(thread: SandboxThread, answer: StepAnswer): void {
    const script = this.#scripts.get(answer.scriptId);
    if (script === undefined || script.thread !== thread || answer.turn === undefined) return;
    const { turn } = answer;
    const isCpuLimit = turn.state.kind === "failed" && turn.state.error.code === "CpuLimit";
    if (isCpuLimit && thread.isShared && this.#options.sharedTurnMs < script.spec.limits.cpuMs) {
      this.#moveToOwnThread(script);
      return;
    }
    script.losses = 0;
    if (turn.state.kind === "failed") this.#leave(script);
    this.#settle(script, (pending) => pending.resolve(turn));
  }

  #moveToOwnThread(script: PooledScript): void {
    script.isHeavy = true;
    this.#heavyRuns.add(script.spec.runId);
    if (this.#heavyRuns.size > HEAVY_RUNS_MAX) this.#heavyRuns.delete(this.#heavyRuns.values().next().value ?? "");
    this.#leave(script);
    this.#send(script);
  }

  /** A thread was ended: what ran there is rebuilt elsewhere, at once if somebody waits for it, else with its next delivery. */
  #died(thread: SandboxThread, culpritId: number): void {
    for (const list of [this.#shared, this.#own]) {
      const index = list.indexOf(thread);
      if (index >= 0) list.splice(index, 1);
    }
    for (const id of thread.scriptIds) {
      const script = this.#scripts.get(id);
      if (script === undefined) continue;
      script.thread = undefined;
      if (script.pending === undefined) continue;
      script.losses += 1;
      if (id === culpritId) this.#punish(script, thread);
      else if (script.losses >= LOSSES_MAX) this.#giveUp(script);
      else this.#send(script);
    }
  }

  #punish(script: PooledScript, thread: SandboxThread): void {
    script.deaths += 1;
    if (thread.isShared && script.deaths < DEATHS_MAX) {
      this.#moveToOwnThread(script);
      return;
    }
    const { cpuMs } = script.spec.limits;
    const state = { kind: "failed", error: cpuLimit(cpuMs) } as const;
    this.#settle(script, (pending) => pending.resolve({ commands: [], printed: [], state, cpuMs }));
  }

  #leave(script: PooledScript): void {
    const { thread } = script;
    script.thread = undefined;
    if (thread === undefined) return;
    thread.scriptIds.delete(script.id);
    if (thread.isShared || thread.scriptIds.size > 0 || this.#own.length <= 1) return;
    this.#own.splice(this.#own.indexOf(thread), 1);
    void thread.close();
  }

  #settle(script: PooledScript, settle: (pending: PendingTurn) => void): void {
    const { pending } = script;
    if (pending === undefined) return;
    script.pending = undefined;
    this.#waitFor(-1);
    settle(pending);
  }

  /** While turns are awaited the threads are watched and keep the process alive. */
  #waitFor(change: 1 | -1): void {
    this.#pendingCount += change;
    if (change === 1 && this.#pendingCount === 1) this.#setBusy(true);
    if (change === -1 && this.#pendingCount === 0) this.#setBusy(false);
  }

  #setBusy(isBusy: boolean): void {
    for (const thread of [...this.#shared, ...this.#own]) thread.hold(isBusy);
    clearInterval(this.#watchTimer);
    if (!isBusy) return;
    this.#watchTimer = setInterval(() => {
      for (const thread of [...this.#shared, ...this.#own]) {
        thread.watch(thread.isShared ? SHARED_GRACE_MS : OWN_GRACE_MS);
      }
    }, WATCH_INTERVAL_MS);
  }
}

interface PendingTurn {
  readonly resolve: (turn: Turn) => void;
  readonly reject: (error: ScriptLost) => void;
}

class PooledScript implements Script {
  readonly id: number;
  readonly spec: ScriptSpec;
  readonly #pool: Pool;
  /** What it was told so far, by reference; undefined when that grew too large to be remembered. */
  told: Delivery[] | undefined = [];
  toldChars = 0;
  last: Delivery | undefined;
  thread: SandboxThread | undefined;
  pending: PendingTurn | undefined;
  isHeavy = false;
  /** Threads that died while they ran this script. */
  deaths = 0;
  /** Threads that died while this script waited for its turn there, since its last turn. */
  losses = 0;
  #isDisposed = false;

  constructor(id: number, spec: ScriptSpec, pool: Pool) {
    this.id = id;
    this.spec = spec;
    this.#pool = pool;
  }

  /** @throws ScriptLost when the instance is gone for good, or disposed of meanwhile */
  deliver(delivery: Delivery): Promise<Turn> {
    if (this.#isDisposed) return Promise.reject(new ScriptLost("the script was disposed of"));
    if (this.pending !== undefined) throw new Error("a delivery was given before the turn of the one before");
    this.last = delivery;
    this.#pool.$remember(this, delivery);
    return this.#pool.$ask(this);
  }

  dispose(): void {
    if (this.#isDisposed) return;
    this.#isDisposed = true;
    this.#pool.$dispose(this);
  }
}

function leastLoaded(threads: readonly SandboxThread[]): SandboxThread {
  return threads.reduce((least, thread) => (thread.scriptIds.size < least.scriptIds.size ? thread : least));
}
