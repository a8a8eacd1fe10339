import { readlinkSync } from "node:fs";
import { setImmediate as nextTick } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { parentPort, workerData } from "node:worker_threads";
import { Instance } from "./instance.ts";
import type { Turn } from "./port.ts";
import { takeSnapshot } from "./snapshot.ts";
import { threadCpuMs } from "./thread-timer.ts";
import {
  RunningTurn,
  type StepRequest,
  type WorkerAnswer,
  type WorkerRequest,
  type WorkerStart,
} from "./worker-messages.ts";

/** One thread that runs scripts, each in an instance of its own, one turn at a time. */

/** How long a repetition of many steps keeps the thread before others get their turn. */
const SLICE_MS = 5;
/** A step that was within its budget once may be slower when it is repeated. */
const REPEATED_BUDGET_FACTOR = 3;

/** Dropped instances whose memory is not yet given back: so many, or so large together, and the thread collects at once. */
const DROPPED_MAX = 64;
const DROPPED_BYTES_MAX = 2_048 * 1_048_576;

const start = workerData as WorkerStart;
const running = new RunningTurn(start.running);
const instances = new Map<number, Instance>();
const snapshot = await takeSnapshot(start.source);

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;
let droppedCount = 0;
let droppedBytes = 0;

/** Gives an instance up. The collector sees only its few objects, not the megabytes behind them, so it is told. */
function drop(scriptId: number): void {
  const instance = instances.get(scriptId);
  if (instance === undefined) return;
  instances.delete(scriptId);
  droppedCount += 1;
  droppedBytes += instance.memoryBytes;
  if (droppedCount < DROPPED_MAX && droppedBytes < DROPPED_BYTES_MAX) return;
  droppedCount = 0;
  droppedBytes = 0;
  setImmediate(collectGarbage);
}

function answer(message: WorkerAnswer): void {
  parentPort?.postMessage(message);
}

function timed(scriptId: number, budgetMs: number, step: () => Turn): Turn {
  running.begin(scriptId, threadCpuMs(), budgetMs);
  try {
    return step();
  } finally {
    running.end();
  }
}

/** Makes the instance anew and repeats what it was told, giving way to others in between. */
async function rebuild(request: StepRequest & { spec: NonNullable<StepRequest["spec"]> }): Promise<Turn | undefined> {
  const { scriptId, spec, deliveries, budgetMs } = request;
  const instance = await Instance.make(start.source, snapshot, spec);
  instances.set(scriptId, instance);
  const budgetOf = (step: number) => (step === deliveries.length ? budgetMs : budgetMs * REPEATED_BUDGET_FACTOR);
  let turn = timed(scriptId, budgetOf(0), () => instance.start(budgetOf(0)));
  let sliceStartedMs = performance.now();
  for (const [index, delivery] of deliveries.entries()) {
    if (turn.state.kind === "failed") return turn;
    const stepBudgetMs = budgetOf(index + 1);
    turn = timed(scriptId, stepBudgetMs, () => instance.deliver(delivery, stepBudgetMs));
    if (performance.now() - sliceStartedMs < SLICE_MS) continue;
    await nextTick();
    if (instances.get(scriptId) !== instance) return undefined;
    sliceStartedMs = performance.now();
  }
  return turn;
}

async function step(request: StepRequest): Promise<void> {
  const { scriptId, spec, deliveries, budgetMs } = request;
  let turn: Turn | undefined;
  if (spec !== undefined) turn = await rebuild({ ...request, spec });
  else {
    const instance = instances.get(scriptId);
    const [delivery] = deliveries;
    if (instance === undefined || delivery === undefined) throw new Error("a step for a script that is not here");
    turn = timed(scriptId, budgetMs, () => instance.deliver(delivery, budgetMs));
  }
  if (turn === undefined) return;
  const memoryBytes = instances.get(scriptId)?.memoryBytes ?? 0;
  if (turn.state.kind === "failed") drop(scriptId);
  answer({ kind: "turn", scriptId, turn, memoryBytes });
}

/** The kernel's id of this thread: the pool reads its CPU time while it is too busy to answer. */
function kernelThreadId(): number | undefined {
  try {
    return Number(readlinkSync("/proc/thread-self").split("/").at(-1));
  } catch {
    return undefined;
  }
}

parentPort?.on("message", (requests: readonly WorkerRequest[]) => {
  for (const request of requests) {
    if (request.kind === "drop") drop(request.scriptId);
    // A rejection here is a fault of ours: it ends the thread, and the pool rebuilds its scripts elsewhere.
    else void step(request);
  }
});
const threadId = kernelThreadId();
answer({ kind: "ready", ...(threadId === undefined ? {} : { threadId }) });
