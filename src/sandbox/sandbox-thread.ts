import { readFileSync } from "node:fs";
import { Worker } from "node:worker_threads";
import { engineSource } from "./engine-source.ts";
import {
  RunningTurn,
  type StepAnswer,
  type WorkerAnswer,
  type WorkerRequest,
  type WorkerStart,
} from "./worker-messages.ts";

/** The thread's stack: more than the engine's own limit needs at the deepest recursion. */
const STACK_MB = 32;
/** CPU time of the kernel's statistics is counted in hundredths of a second on every Linux. */
const TICK_MS = 10;

interface ThreadEvents {
  answered(thread: SandboxThread, answer: StepAnswer): void;
  /** The thread is gone. `culpritId` is the script that it ran then, 0 when none. */
  died(thread: SandboxThread, culpritId: number): void;
}

/** One worker thread as the pool sees it: requests are batched per tick, and its turns are watched from outside. */
export class SandboxThread {
  /** Ids of the scripts whose instances live here. */
  readonly scriptIds = new Set<number>();
  readonly isShared: boolean;
  readonly #worker: Worker;
  readonly #running = new RunningTurn();
  readonly #events: ThreadEvents;
  #threadId: number | undefined;
  #outgoing: WorkerRequest[] = [];
  #isDead = false;
  #seenTurn = -1;
  #seenAtMs = 0;

  constructor(isShared: boolean, events: ThreadEvents) {
    this.isShared = isShared;
    this.#events = events;
    const start: WorkerStart = { source: engineSource(), running: this.#running.buffer };
    this.#worker = new Worker(new URL("./worker.ts", import.meta.url), {
      workerData: start,
      resourceLimits: { stackSizeMb: STACK_MB },
      // Nothing of the process's environment belongs into a thread that runs foreign code.
      env: {},
      execArgv: [],
    });
    this.#worker.on("message", (answer: WorkerAnswer) => {
      if (answer.kind === "ready") this.#threadId = answer.threadId;
      else if (!this.#isDead) this.#events.answered(this, answer);
    });
    this.#worker.on("error", () => this.#die());
    this.#worker.on("exit", () => this.#die());
    this.#worker.unref();
  }

  /** Keeps the process alive while the pool waits for an answer, and only then. */
  hold(isHeld: boolean): void {
    if (isHeld) this.#worker.ref();
    else this.#worker.unref();
  }

  /** Sends requests of one tick together: a message costs more than what is in it. */
  post(request: WorkerRequest): void {
    if (this.#outgoing.length === 0) queueMicrotask(() => this.#flush());
    this.#outgoing.push(request);
  }

  #flush(): void {
    const requests = this.#outgoing;
    this.#outgoing = [];
    if (!this.#isDead) this.#worker.postMessage(requests);
  }

  /** Ends the thread when its turn has used its budget and `graceMs` more: a native operation does not see the limit inside. */
  watch(graceMs: number): void {
    const { scriptId, turn, startedCpuMs, budgetMs } = this.#running.read();
    const nowMs = performance.now();
    if (scriptId === 0) return;
    if (turn !== this.#seenTurn) {
      this.#seenTurn = turn;
      this.#seenAtMs = nowMs;
      return;
    }
    const wallMs = nowMs - this.#seenAtMs;
    if (wallMs < budgetMs + graceMs) return;
    const usedMs = this.#threadId === undefined ? wallMs : threadCpuMs(this.#threadId) - startedCpuMs;
    if (usedMs > budgetMs + graceMs) this.#die();
  }

  /** Ends the thread. Nothing is reported of it any more. */
  async close(): Promise<void> {
    this.#isDead = true;
    await this.#worker.terminate();
  }

  #die(): void {
    if (this.#isDead) return;
    this.#isDead = true;
    const { scriptId } = this.#running.read();
    void this.#worker.terminate();
    this.#events.died(this, scriptId);
  }
}

/** CPU time of a thread of this process in milliseconds, from the kernel; endless when the thread is gone. */
function threadCpuMs(threadId: number): number {
  try {
    const text = readFileSync(`/proc/self/task/${threadId}/stat`, "latin1");
    // The second field is the thread's name in parentheses; utime and stime are the 14th and 15th.
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
