import { setTimeout as delay } from "node:timers/promises";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type LedgerServer, startLedgerServer } from "../mcp/ledger-server.ts";
import { startPostgres } from "../postgres/postgres.ts";
import { eventually } from "./eventually.ts";
import { watchLeases } from "./lease-watching.ts";
import { Rig } from "./rig.ts";

/** Processes that start, die and start again: on a busy machine that takes its time. */
vi.setConfig({ testTimeout: 120_000 });

let server: LedgerServer;

beforeEach(async () => {
  server = await startLedgerServer({
    tools: ["once", "read", "slow"].map((name) => ({ name, inputSchema: { type: "object" } })),
  });
});

afterEach(async () => {
  await server.close();
});

/** Calls one tool that often at the same moment, and counts how the calls ended. */
const script = (tool: string, count: number, more = "") => `
  import { app } from "rewind:tools";
  export default async () => {
    const one = (n: number) => app.${tool}({ n }).then(() => "done", (error) => (error.outcomeUnknown ? "unknown" : error.code));
    const told = await Promise.all([...Array.from({ length: ${count} }, (_, n) => one(n))${more}]);
    const counts: Record<string, number> = {};
    for (const item of told) counts[String(item)] = (counts[String(item)] ?? 0) + 1;
    return counts;
  };`;
const toolset = (rig: Rig, concurrency: number) =>
  rig.toolset({
    servers: [{ name: "app", url: server.url }],
    policies: [{ tools: ["app.once"], onInterruption: "AtMostOnce" }],
    limits: { concurrency },
  });
const arrivalsByKey = (tool: string) => {
  const counts = new Map<string, number>();
  for (const entry of server.ledger.entries)
    if (entry.tool === tool) counts.set(entry.key, (counts.get(entry.key) ?? 0) + 1);
  return [...counts.values()];
};

test("SIGKILL while 96 of 100 AtMostOnce calls wait for a slot: the outcome of the 4 in flight alone is unknown [journal: in doubt]", async () => {
  const rig = await Rig.open();
  await toolset(rig, 4);
  const first = rig.dispatcher();
  await rig.pinned();
  server.behaviour.faults = [{ kind: "hold", times: 4 }];
  const { runId } = await rig.run(script("once", 100));
  await eventually("4 are in flight, and all are recorded", async () => {
    const called = (await rig.log(runId)).filter((entry) => entry.kind === "called");
    return server.waiting() === 4 && called.length === 100;
  });
  await first.kill("SIGKILL");
  await rig.buryAll();
  rig.dispatcher();
  expect(JSON.parse((await rig.finished(runId)).resultText ?? "null")).toEqual({ unknown: 4, done: 96 });
  expect(arrivalsByKey("once")).toEqual(Array.from({ length: 100 }, () => 1));
  await rig.close();
});

test("SIGKILL 100 ms after 15 of 16 parallel calls were answered: none of the 15 is sent again", async () => {
  const rig = await Rig.open();
  await toolset(rig, 16);
  const first = rig.dispatcher();
  await rig.pinned();
  server.behaviour.faults = [{ kind: "hold", tool: "slow" }];
  const { runId } = await rig.run(script("read", 15, ", app.slow({}).then(() => 'slow')"));
  await eventually("15 are answered", async () => arrivalsByKey("read").length === 15 && server.waiting() === 1);
  await delay(100);
  await first.kill("SIGKILL");
  await rig.buryAll();
  rig.dispatcher();
  expect(JSON.parse((await rig.finished(runId)).resultText ?? "null")).toEqual({ done: 15, slow: 1 });
  expect(arrivalsByKey("read")).toEqual(Array.from({ length: 15 }, () => 1));
  expect(arrivalsByKey("slow")).toEqual([2]);
  await rig.close();
});

test("Postgres away for longer than the lease while 100 AtMostOnce calls are answered: no outcome is unknown, none is sent again [semantics 14.6]", async () => {
  const postgres = await startPostgres();
  const rig = await Rig.open(postgres);
  const stopWatching = watchLeases(rig);
  try {
    await toolset(rig, 100);
    const only = rig.dispatcher();
    await rig.pinned();
    server.behaviour.faults = [{ kind: "hold", times: 100 }];
    const { runId } = await rig.run(script("once", 100));
    await eventually("all are in flight", async () => server.waiting() === 100);
    await postgres.stop("immediate");
    server.release();
    // Three times the lease of two seconds.
    await delay(6_000);
    await postgres.start();
    const { resultText } = await rig.finished(runId, 30_000);
    expect(JSON.parse(resultText ?? "null")).toEqual({ done: 100 });
    expect(arrivalsByKey("once")).toEqual(Array.from({ length: 100 }, () => 1));
    expect(only.output()).not.toContain("marked dead by others");
  } finally {
    await stopWatching();
    await rig.close();
    await postgres.close();
  }
});
