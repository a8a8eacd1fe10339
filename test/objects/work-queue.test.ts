import { describe, expect, onTestFinished, test } from "vitest";
import type { ObjectKey } from "../../src/objects/store.ts";
import { systemTimers } from "../../src/objects/timers.ts";
import { type WorkFailure, type WorkOutcome, WorkQueue, type WorkQueueOptions } from "../../src/objects/work-queue.ts";
import { ManualTimers, settled } from "./manual-timers.ts";

/** A queue whose passes stay open until the test ends them. */
class Bench {
  readonly timers = new ManualTimers();
  readonly started: string[] = [];
  readonly failures: WorkFailure[] = [];
  readonly signals: AbortSignal[] = [];
  readonly queue: WorkQueue;
  #open: { name: string; resolve: (outcome?: WorkOutcome) => void; reject: (error: Error) => void }[] = [];

  constructor(options: Partial<WorkQueueOptions> = {}) {
    this.queue = new WorkQueue({
      concurrency: 2,
      retry: { firstMs: 100, maxMs: 1_000, factor: 2 },
      timers: this.timers,
      random: () => 1,
      onFailure: (failure) => this.failures.push(failure),
      process: (key, signal) => {
        this.started.push(key.name);
        this.signals.push(signal);
        return new Promise((resolve, reject) => this.#open.push({ name: key.name, resolve, reject }));
      },
      ...options,
    });
  }

  async end(name: string, outcome?: WorkOutcome | Error): Promise<void> {
    const pass = this.#open.find((candidate) => candidate.name === name);
    if (pass === undefined) throw new Error(`no open pass over ${name}`);
    this.#open = this.#open.filter((candidate) => candidate !== pass);
    if (outcome instanceof Error) pass.reject(outcome);
    else pass.resolve(outcome);
    await settled();
  }
}

const key = (name: string): ObjectKey => ({ namespace: "agents", name });

describe("the work queue", () => {
  test("a key that waits is there once, and no more keys run than workers", async () => {
    const { queue, started, failures } = new Bench();
    for (const name of ["a", "b", "c", "c", "d", "c"]) queue.add(key(name));
    expect(started).toEqual(["a", "b"]);
    expect(queue.depth).toBe(2);
    expect(queue.running).toBe(2);
    expect(failures).toEqual([]);
  });

  test("waiting keys start in order as workers become free", async () => {
    const bench = new Bench();
    for (const name of ["a", "b", "c", "d"]) bench.queue.add(key(name));
    await bench.end("b");
    expect(bench.started).toEqual(["a", "b", "c"]);
    await bench.end("a");
    expect(bench.started).toEqual(["a", "b", "c", "d"]);
  });

  test("a key that changes while it runs is not run twice at once, but once more", async () => {
    const bench = new Bench();
    bench.queue.add(key("a"));
    bench.queue.add(key("a"));
    bench.queue.add(key("a"));
    expect(bench.started).toEqual(["a"]);
    await bench.end("a");
    expect(bench.started).toEqual(["a", "a"]);
    await bench.end("a");
    expect(bench.started).toEqual(["a", "a"]);
  });

  test("equal names in two namespaces are two keys", () => {
    const bench = new Bench();
    bench.queue.add({ namespace: "one", name: "a" });
    bench.queue.add({ namespace: "two", name: "a" });
    expect(bench.queue.running).toBe(2);
  });

  test("requeueAfterMs brings the key back then, and forty days do not fire at once [case d01]", async () => {
    const bench = new Bench();
    const fortyDaysMs = 40 * 86_400_000;
    bench.queue.add(key("a"));
    await bench.end("a", { requeueAfterMs: fortyDaysMs });
    await bench.timers.advance(fortyDaysMs - 1);
    expect(bench.started).toEqual(["a"]);
    await bench.timers.advance(1);
    expect(bench.started).toEqual(["a", "a"]);
  });

  test("the machine's timers take delays beyond 2^31 ms without firing at once [case d01]", async () => {
    let fired = false;
    onTestFinished(
      systemTimers.after(40 * 86_400_000, () => {
        fired = true;
      }),
    );
    const short = Promise.withResolvers<void>();
    systemTimers.after(20, short.resolve);
    await short.promise;
    expect(fired).toBe(false);
  });

  test("of two delays for one key the sooner counts, and a pass before then takes its place", async () => {
    const bench = new Bench();
    bench.queue.addAfter(key("a"), 500);
    bench.queue.addAfter(key("a"), 200);
    bench.queue.addAfter(key("a"), 900);
    expect(bench.timers.waiting).toBe(1);
    await bench.timers.advance(200);
    expect(bench.started).toEqual(["a"]);
    await bench.end("a", { requeueAfterMs: 5_000 });
    bench.queue.add(key("a"));
    expect(bench.timers.waiting).toBe(0);
    await bench.end("a");
    await bench.timers.advance(10_000);
    expect(bench.started).toEqual(["a", "a"]);
  });

  test("[semantics 14.4] failures come again with growing, bounded pauses; others go on; success starts over", async () => {
    const bench = new Bench();
    bench.queue.add(key("bad"));
    for (const pauseMs of [100, 200, 400, 800, 1_000, 1_000]) {
      const passes = bench.started.length;
      await bench.end("bad", new Error("refused"));
      expect(bench.failures.at(-1)).toMatchObject({ failures: passes, retryAfterMs: pauseMs });
      await bench.timers.advance(pauseMs - 1);
      expect(bench.started).toHaveLength(passes);
      await bench.timers.advance(1);
      expect(bench.started).toHaveLength(passes + 1);
    }
    bench.queue.add(key("good"));
    expect(bench.started.at(-1)).toBe("good");
    await bench.end("bad");
    bench.queue.add(key("bad"));
    await bench.end("bad", new Error("refused"));
    expect(bench.failures.at(-1)).toMatchObject({ failures: 1, retryAfterMs: 100 });
  });

  test("a pass that fails and changes its own object waits the first pause, and does not spin", async () => {
    const bench = new Bench();
    bench.queue.add(key("a"));
    for (let pass = 1; pass <= 5; pass++) {
      bench.queue.add(key("a"));
      await bench.end("a", new Error("still broken"));
      expect(bench.started).toHaveLength(pass);
      await bench.timers.advance(100);
      expect(bench.started).toHaveLength(pass + 1);
    }
  });

  test("a reporter that throws, and a process that throws before it returns, stop nothing", async () => {
    let passes = 0;
    const bench = new Bench({
      process: () => {
        passes += 1;
        throw new Error("no promise");
      },
      onFailure: () => {
        throw new Error("the logger is broken");
      },
    });
    bench.queue.add(key("a"));
    await bench.timers.advance(100);
    expect(passes).toBe(2);
  });

  test("nothing is kept of a key that is done", async () => {
    const bench = new Bench();
    bench.queue.add(key("a"));
    await bench.end("a", { requeueAfterMs: 10 });
    expect(bench.timers.waiting).toBe(1);
    await bench.timers.advance(10);
    await bench.end("a");
    expect(bench.timers.waiting).toBe(0);
    expect(bench.queue.depth + bench.queue.running).toBe(0);
  });
});

describe("closing the work queue", () => {
  test("what waits and runs comes to its end, what is due later is dropped, nothing new is taken", async () => {
    const bench = new Bench({ concurrency: 1 });
    bench.queue.add(key("a"));
    bench.queue.add(key("b"));
    bench.queue.addAfter(key("later"), 50);
    const closed = bench.queue.close(1_000);
    bench.queue.add(key("new"));
    await bench.end("a", { requeueAfterMs: 1 });
    await bench.end("b", new Error("refused"));
    expect(await closed).toBe(true);
    await bench.timers.advance(10_000);
    expect(bench.started).toEqual(["a", "b"]);
    expect(bench.timers.waiting).toBe(0);
  });

  test("past the deadline what waits is dropped and the running passes' signal aborts", async () => {
    const bench = new Bench({ concurrency: 1 });
    bench.queue.add(key("a"));
    bench.queue.add(key("b"));
    const closed = bench.queue.close(1_000);
    await bench.timers.advance(999);
    expect(bench.signals[0]?.aborted).toBe(false);
    await bench.timers.advance(1);
    expect(await closed).toBe(false);
    expect(bench.signals[0]?.aborted).toBe(true);
    await bench.end("a");
    expect(bench.started).toEqual(["a"]);
  });

  test("an idle queue closes at once, and a deadline of zero waits for nothing", async () => {
    expect(await new Bench().queue.close(1_000)).toBe(true);
    const bench = new Bench();
    bench.queue.add(key("a"));
    expect(await bench.queue.close(0)).toBe(false);
    expect(bench.signals[0]?.aborted).toBe(true);
  });
});
