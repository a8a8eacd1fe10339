import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type LedgerServer, startLedgerServer } from "../mcp/ledger-server.ts";
import { startDatabaseProxy } from "./database-proxy.ts";
import { eventually } from "./eventually.ts";
import { Rig } from "./rig.ts";

/** Processes that start, die and start again: on a busy machine that takes its time. */
vi.setConfig({ testTimeout: 120_000 });

let rig: Rig;
let server: LedgerServer;

const tool = (name: string) => ({ name, inputSchema: { type: "object" as const } });
const script = `
  import { mail } from "rewind:tools";
  export default async () => {
    await mail.read({});
    await mail.send({ to: ["ops", "example.com"].join("@") });
    return "done";
  }`;

beforeEach(async () => {
  server = await startLedgerServer({ tools: [tool("read"), tool("send")] });
  rig = await Rig.open();
});

afterEach(async () => {
  await rig.close();
  await server.close();
});

const toolset = (policy: object = {}) =>
  rig.toolset({ servers: [{ name: "mail", url: server.url }], policies: [{ tools: ["mail.send"], ...policy }] });
const sends = () => server.ledger.entries.filter((entry) => entry.tool === "send");

test("SIGKILL between the intent's commit and the send: another sends it, with the same key, once [semantics 4.2, 5.1]", async () => {
  await toolset();
  const proxy = await startDatabaseProxy(rig.databaseUrl);
  const first = rig.dispatcher({ databaseUrl: proxy.url });
  await rig.pinned();
  proxy.holdAnswersAfter("ops@example.com");
  const { runId } = await rig.run(script);
  await eventually("the intent is committed", async () =>
    (await rig.log(runId)).some((entry) => entry.kind === "called" && entry.tool === "mail.send"),
  );
  await first.kill("SIGKILL");
  expect(sends()).toEqual([]);
  await rig.buryAll();
  rig.dispatcher();
  expect(await rig.finished(runId)).toMatchObject({ phase: "Succeeded", resultText: '"done"' });
  expect(sends()).toMatchObject([{ key: `${runId}/2`, effect: true }]);
  await proxy.close();
});

test("SIGKILL between the send and its answer: another sends it again with the same key, and there is one effect [semantics 5.2]", async () => {
  await toolset();
  const first = rig.dispatcher();
  server.behaviour.faults = [{ kind: "hold", tool: "send" }];
  await rig.pinned();
  const { runId } = await rig.run(script);
  await eventually("the server has acted", async () => server.waiting() === 1);
  await first.kill("SIGKILL");
  await rig.buryAll();
  rig.dispatcher();
  expect(await rig.finished(runId)).toMatchObject({ phase: "Succeeded" });
  expect(sends().map((entry) => [entry.key, entry.effect])).toEqual([
    [`${runId}/2`, true],
    [`${runId}/2`, false],
  ]);
  server.release();
});

test("the same under AtMostOnce: it is not sent again, and the script learns that the outcome is unknown [semantics 5.2]", async () => {
  await toolset({ onInterruption: "AtMostOnce" });
  const first = rig.dispatcher();
  server.behaviour.faults = [{ kind: "hold", tool: "send" }];
  await rig.pinned();
  const { runId } = await rig.run(script);
  await eventually("the server has acted", async () => server.waiting() === 1);
  await first.kill("SIGKILL");
  await rig.buryAll();
  rig.dispatcher();
  const view = await rig.finished(runId);
  expect(view.phase).toBe("Failed");
  expect(JSON.parse(view.errorText ?? "")).toMatchObject({
    code: "Interrupted",
    tool: "mail.send",
    seq: 2,
    outcomeUnknown: true,
    attempts: 1,
  });
  expect(sends()).toHaveLength(1);
  server.release();
});

test("SIGKILL while parked: the approval is carried out by another, and nothing before it is sent again [semantics 7, case c03]", async () => {
  await toolset({ approval: "Required" });
  const first = rig.dispatcher();
  await rig.pinned();
  const { runId } = await rig.run(script);
  const parked = await rig.resting(runId, "Parked");
  expect(parked.holds).toMatchObject([
    { holdId: "2", seq: 2, tool: "mail.send", reason: "ApprovalRequired", actions: ["Approve", "Reject"] },
  ]);
  await first.kill("SIGKILL");
  expect(await rig.decide(runId, "2", "Approve", "ann", "looks right")).toBe("taken");
  await rig.buryAll();
  rig.dispatcher();
  const view = await rig.finished(runId);
  expect(view).toMatchObject({
    phase: "Succeeded",
    holds: [{ outcome: "Approved", outcomeNote: "by ann: looks right" }],
  });
  expect(server.ledger.entries.map((entry) => [entry.tool, entry.key])).toEqual([
    ["read", `${runId}/1`],
    ["send", `${runId}/2`],
  ]);
});

test("SIGKILL between the answer and its record: another asks again with the same key, and there is one effect", async () => {
  await toolset();
  const proxy = await startDatabaseProxy(rig.databaseUrl);
  const first = rig.dispatcher({ databaseUrl: proxy.url });
  server.behaviour.faults = [{ kind: "hold", tool: "send" }];
  await rig.pinned();
  const { runId } = await rig.run(script);
  await eventually("the server has acted", async () => server.waiting() === 1);
  proxy.holdRequests();
  const before = proxy.heldBytes();
  server.release();
  await eventually("the record of the answer is on its way", async () => proxy.heldBytes() > before);
  await first.kill("SIGKILL");
  await rig.buryAll();
  rig.dispatcher();
  expect(await rig.finished(runId)).toMatchObject({ phase: "Succeeded", resultText: '"done"' });
  expect(sends().map((entry) => entry.effect)).toEqual([true, false]);
  expect(new Set(sends().map((entry) => entry.key))).toEqual(new Set([`${runId}/2`]));
  await proxy.close();
});

test("a dispatcher that was frozen past its lease writes and sends nothing when it wakes [case d05]", async () => {
  await toolset({ onInterruption: "AtMostOnce" });
  const frozen = rig.dispatcher();
  server.behaviour.faults = [{ kind: "hold", tool: "read" }];
  await rig.pinned();
  const { runId } = await rig.run(script);
  await eventually("the first call is under way", async () => server.waiting() === 1);
  await frozen.kill("SIGSTOP");
  await rig.buryAll();
  const other = rig.dispatcher();
  const view = await rig.finished(runId);
  server.release();
  await frozen.kill("SIGCONT");
  await eventually("it noticed", async () => frozen.output().includes("marked dead by others"));
  expect(view).toMatchObject({ phase: "Succeeded" });
  expect(sends()).toHaveLength(1);
  expect((await rig.log(runId)).filter((entry) => entry.kind === "settled")).toHaveLength(2);
  await other.kill("SIGTERM");
});

test("a database that was away for a while makes no outcome unknown [journal: ownership]", async () => {
  await toolset({ onInterruption: "AtMostOnce" });
  const proxy = await startDatabaseProxy(rig.databaseUrl);
  rig.dispatcher({ databaseUrl: proxy.url });
  server.behaviour.faults = [{ kind: "hold", tool: "send" }];
  await rig.pinned();
  const { runId } = await rig.run(script);
  await eventually("the call is under way", async () => server.waiting() === 1);
  proxy.cut();
  proxy.holdRequests();
  server.release();
  // Longer than the lease of two seconds, so that it ran out meanwhile.
  await new Promise((resolve) => setTimeout(resolve, 3_000));
  proxy.letGo();
  expect(await rig.finished(runId)).toMatchObject({ phase: "Succeeded" });
  expect(sends()).toHaveLength(1);
  await proxy.close();
});

test("an orderly stop lets calls in flight end and gives the run to the next", async () => {
  await toolset();
  const first = rig.dispatcher();
  server.behaviour.faults = [{ kind: "hold", tool: "read" }];
  await rig.pinned();
  const { runId } = await rig.run(script);
  await eventually("the first call is under way", async () => server.waiting() === 1);
  const stopped = first.kill("SIGTERM");
  await eventually("it is stopping", async () => first.output().includes("dispatcher stops"));
  server.release();
  await stopped;
  expect(first.child.exitCode).toBe(0);
  expect((await rig.log(runId)).map((entry) => entry.kind)).toContain("settled");
  rig.dispatcher();
  expect(await rig.finished(runId)).toMatchObject({ phase: "Succeeded" });
  expect(server.ledger.entries.map((entry) => entry.tool)).toEqual(["read", "send"]);
});
