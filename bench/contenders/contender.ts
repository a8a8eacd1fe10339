import { createInterface } from "node:readline";
import { type Measured, percentile, type Workload } from "../workload.ts";

/** Makes the n-th call of one run, and resolves with the text that the tool gave back. */
export type CallTool = (n: number) => Promise<string>;

/**
 * Serves the benchmark over standard input and output: a workload a line comes in, and what was measured goes out.
 * @param run makes the calls of one run one after the other, each by `timed`
 */
export function serveWorkloads(run: (calls: number, timed: Timed) => Promise<void>): void {
  const lines = createInterface({ input: process.stdin });
  let queue: Promise<void> = Promise.resolve();
  lines.on("line", (line) => {
    queue = queue.then(async () => say(await measure(JSON.parse(line) as Workload, run)));
  });
  lines.on("close", () => process.exit(0));
  say({ ready: true });
}

/** Makes one call and keeps how long it took. */
export type Timed = <Value>(call: () => Promise<Value>) => Promise<Value>;

async function measure(workload: Workload, run: (calls: number, timed: Timed) => Promise<void>): Promise<Measured> {
  const latenciesMs: number[] = [];
  const timed: Timed = async (call) => {
    const startedMs = performance.now();
    const value = await call();
    latenciesMs.push(performance.now() - startedMs);
    return value;
  };
  const startedMs = performance.now();
  await Promise.all(Array.from({ length: workload.runs }, () => run(workload.calls, timed)));
  const elapsedMs = performance.now() - startedMs;
  if (latenciesMs.length !== workload.runs * workload.calls)
    throw new Error(`${latenciesMs.length} calls were made, not ${workload.runs * workload.calls}`);
  return { elapsedMs, p50Ms: percentile(latenciesMs, 0.5), p99Ms: percentile(latenciesMs, 0.99) };
}

/** Every contender must have got the tool's answer, not just any. */
export function expectText(answer: unknown, text: string): void {
  if (answer !== text) throw new Error(`the tool answered ${JSON.stringify(answer)}`);
}

function say(message: object): void {
  process.stdout.write(`${JSON.stringify(message)}\n`);
}

/** A variable that the benchmark sets for its contenders. */
export function setting(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set: contenders are started by the benchmark`);
  return value;
}
