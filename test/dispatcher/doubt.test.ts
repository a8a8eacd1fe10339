import { setTimeout as delay } from "node:timers/promises";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type LedgerServer, startLedgerServer } from "../mcp/ledger-server.ts";
import { type DatabaseProxy, startDatabaseProxy } from "./database-proxy.ts";
import { eventually } from "./eventually.ts";
import { Rig } from "./rig.ts";

/** Processes that start, die and start again: on a busy machine that takes its time. */
vi.setConfig({ testTimeout: 120_000 });

let rig: Rig;
let server: LedgerServer;
let proxy: DatabaseProxy;

beforeEach(async () => {
  server = await startLedgerServer({ tools: [{ name: "read", inputSchema: { type: "object" } }] });
  rig = await Rig.open();
  await rig.toolset({ servers: [{ name: "app", url: server.url }] });
  proxy = await startDatabaseProxy(rig.databaseUrl);
});

afterEach(async () => {
  await rig.close();
  await Promise.all([server.close(), proxy.close()]);
});

const script = (body: string) =>
  `import { app } from "rewind:tools";\nimport { signal } from "rewind";\nexport default async () => {\n${body}\n}`;

test("a claim that was committed while its answer was lost: the run is found and driven [journal: ownership]", async () => {
  rig.dispatcher({ databaseUrl: proxy.url });
  await rig.pinned();
  proxy.cutAfter("set owner = $1, runnable_at = null");
  const { runId } = await rig.run(script("await app.read({}); return 1;"));
  expect(await rig.finished(runId)).toMatchObject({ phase: "Succeeded", resultText: "1" });
  expect(proxy.cuts()).toBe(1);
});

test("a wake-up that was taken while its answer was lost: the run learns of it though it stays in memory [journal: wake-ups]", async () => {
  rig.dispatcher({ databaseUrl: proxy.url });
  await rig.pinned();
  server.behaviour.faults = [{ kind: "hold", tool: "read" }];
  const { runId } = await rig.run(script('return await Promise.all([app.read({}), signal("go")]).then(() => 2);'));
  await eventually("the call is under way", async () => server.waiting() === 1);
  proxy.cutAfter("set runnable_at = null from fence");
  await rig.signal(runId, "go", "now");
  await eventually("the signal was read while the call is under way", async () =>
    (await rig.log(runId)).some((entry) => entry.kind === "signalRead"),
  );
  expect(proxy.cuts()).toBe(1);
  server.release();
  expect(await rig.finished(runId)).toMatchObject({ phase: "Succeeded", resultText: "2" });
});

test("a release and an end whose answers were lost happen once, and the run goes on [journal: in doubt]", async () => {
  rig.dispatcher({ databaseUrl: proxy.url });
  await rig.pinned();
  proxy.cutAfter("released as (");
  const { runId } = await rig.run(script('await app.read({}); await signal("go"); await app.read({}); return 3;'));
  await rig.resting(runId, "Waiting");
  expect(proxy.cuts()).toBe(1);
  proxy.cutAfter("finished as (");
  await rig.signal(runId, "go", "now");
  expect(await rig.finished(runId)).toMatchObject({ phase: "Succeeded", resultText: "3" });
  await eventually("the end's answer was lost", async () => proxy.cuts() === 2);
  expect(server.ledger.entries.map(({ key }) => key)).toEqual([`${runId}/1`, `${runId}/2`]);
});

test("a signal that comes while a run that waits is being written down is not lost with its release [journal: wake-ups]", async () => {
  rig.dispatcher({ databaseUrl: proxy.url });
  await rig.pinned();
  server.behaviour.faults = [{ kind: "hold", tool: "read" }];
  const { runId } = await rig.run(script('await app.read({}); console.log("read"); await signal("go"); return 4;'));
  await eventually("the call is under way", async () => server.waiting() === 1);
  proxy.delayNext("insert into holdpoint.log", 2_500);
  server.release();
  await eventually("the answer is being written, before the release", async () => proxy.delays() === 1);
  await rig.signal(runId, "go", "now");
  expect(await rig.finished(runId)).toMatchObject({ phase: "Succeeded", resultText: "4" });
});

test("a release whose answer was lost while the run was woken at once: it has one driver, and nothing is sent twice", async () => {
  rig.dispatcher({ databaseUrl: proxy.url });
  await rig.pinned();
  proxy.cutAfter("released as (");
  const { runId } = await rig.run(script('await app.read({}); await signal("go"); await app.read({}); return 5;'));
  await eventually("the release's answer is lost", async () => proxy.cuts() === 1);
  server.behaviour.faults = [{ kind: "hold", tool: "read", times: 2 }];
  await rig.signal(runId, "go", "now");
  await eventually("the second call is under way", async () => server.waiting() > 0);
  // Past the moment at which the release is tried again: what must not happen cannot be waited for.
  await delay(1_000);
  server.release();
  expect(await rig.finished(runId)).toMatchObject({ phase: "Succeeded", resultText: "5" });
  expect(server.ledger.entries.map(({ key }) => key)).toEqual([`${runId}/1`, `${runId}/2`]);
});

test("a dispatcher that starts while the database is away waits for it [semantics 14.6]", async () => {
  proxy.holdRequests();
  const waiting = rig.dispatcher({ databaseUrl: proxy.url });
  await eventually("it says that it waits", async () => waiting.output().includes("no lease could be acquired"));
  proxy.cut();
  proxy.letGo();
  await rig.pinned();
  expect(waiting.child.exitCode).toBeNull();
});

test("more signals than one look brings are all read, in the order in which they came [semantics 11.2]", async () => {
  const first = rig.dispatcher();
  await rig.pinned();
  await first.kill("SIGTERM");
  const count = 1_100;
  const { runId } = await rig.run(
    script(`const told: any[] = []; for (let n = 0; n < ${count}; n++) told.push(await signal("tick")); return told;`),
  );
  for (let n = 0; n < count; n++) await rig.signal(runId, "tick", n);
  rig.dispatcher();
  const { resultText } = await rig.finished(runId);
  expect(JSON.parse(resultText ?? "null")).toEqual(Array.from({ length: count }, (_, n) => n));
});
