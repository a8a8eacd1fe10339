import { afterAll, beforeAll, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { eventually } from "../dispatcher/eventually.ts";
import { type LedgerServer, startLedgerServer } from "../mcp/ledger-server.ts";
import { startEverything, startTracker } from "./mcp-servers.ts";
import { conditionOf, repositoryFile, World } from "./world.ts";

const ANN = "ann@example.com";
const EVE = "eve@example.com";

let world: World;
let server: LedgerServer;

const anything = { type: "object", properties: { n: { type: "integer" } } };
const script = `
  import { mail } from "rewind:tools";
  export default async function (input: { to: string }) {
    const row = await mail.read({ n: 1 });
    await mail.send({ n: 2 });
    return input.to;
  }`;

beforeAll(async () => {
  server = await startLedgerServer({ tools: ["read", "send"].map((name) => ({ name, inputSchema: anything })) });
  world = await World.open("path");
  await world.allow("approver", [ANN], ["get", "list", "patch", "approve"]);
  await world.allow("reader", [EVE], ["get", "list", "patch"]);
  world.startController();
  await world.toolset("post", {
    servers: [{ name: "mail", url: server.url }],
    policies: [{ tools: ["mail.send"], approval: "Required" }],
    dispatcher: { idleAfter: "2s" },
  });
}, 120_000);

afterAll(async () => {
  await world?.close();
  await server?.close();
});

const sends = () => server.ledger.entries.filter((entry) => entry.tool === "send");

test("a Toolset is pinned: digest, tools with schemas, conditions, declarations in an immutable ConfigMap", async () => {
  const { status } = await world.toolsetWhen("post", "is ready", (now) => conditionOf(now, "Ready")?.status === "True");
  expect(status.digest).toMatch(/^sha256:[0-9a-f]{64}$/);
  expect(status.tools?.map((tool) => [tool.name, tool.inputSchema, tool.policy?.approval])).toEqual([
    ["mail.read", anything, "None"],
    ["mail.send", anything, "Required"],
  ]);
  for (const type of ["Pinned", "Reachable", "Ready"])
    expect(conditionOf(status, type)).toMatchObject({ status: "True", reason: type });
  const name = status.declarations?.configMap ?? "";
  const configMap = JSON.parse(await world.cluster.kubectl("get", "configmap", name, "-o", "json"));
  expect(configMap.immutable).toBe(true);
  expect(configMap.data["rewind-tools.d.ts"]).toContain("send(args?: { n?: number | bigint }): Promise<unknown>;");
  expect(configMap.data["prompt.txt"]).toContain("mail.send(");
  const [header = "", row = ""] = (await world.cluster.kubectl("get", "toolset", "post")).trim().split("\n");
  expect(header.trim().split(/\s+/)).toEqual(["NAME", "READY", "TOOLS", "DIGEST", "DRIFTED", "RUNS", "AGE"]);
  expect(row.split(/\s+/).slice(1, 3)).toEqual(["True", "2"]);
});

test("a Run runs, parks, costs no process, is approved by the plugin, and returns", async () => {
  await world.run("first", "post", script, { input: { to: "ops" } });
  const { status } = await world.runPhase("first", "Parked");
  expect(status.parked).toMatchObject([
    {
      id: "2",
      seq: 2,
      tool: "mail.send",
      reason: "ApprovalRequired",
      arguments: '{"n":2}',
      argumentsBytes: 7,
      actions: ["Approve", "Reject"],
      key: `${status.runId}/2`,
    },
  ]);
  expect(conditionOf(status, "Parked-2")).toMatchObject({
    status: "True",
    reason: "ApprovalRequired",
    message: expect.stringContaining("mail.send"),
  });
  expect(conditionOf(status, "Accepted")).toMatchObject({ status: "True", reason: "Accepted" });
  await world.scaledToZero();
  const said = await world.kubectlPlugin(ANN, "approve", "run/first", "2", "-m", "looks right");
  expect(said).toContain("first");
  const done = await world.runPhase("first", "Succeeded");
  expect(done.status.result).toBe("ops");
  expect(done.status.calls).toEqual({ total: 2, succeeded: 2, failed: 0, parked: 0, inFlight: 0 });
  expect(conditionOf(done.status, "Parked-2")).toMatchObject({
    status: "False",
    reason: "Approved",
    message: `mail.send: approved by ${ANN}: looks right`,
  });
  expect(conditionOf(done.status, "Finished")).toMatchObject({ status: "True", reason: "Succeeded" });
  expect(sends().map((entry) => entry.key)).toEqual([`${status.runId}/2`]);
  const [header = "", row = ""] = (await world.cluster.kubectl("get", "runs", "first")).trim().split("\n");
  expect(header.trim().split(/\s+/)).toEqual(["NAME", "STATUS", "PARKED", "TOOL", "CALLS", "AGE"]);
  expect(row.split(/\s+/).slice(0, 2)).toEqual(["first", "Succeeded"]);
});

test("rejecting tells the script; a plain merge patch decides as well; who may not is refused by the API server", async () => {
  const before = sends().length;
  await world.run(
    "second",
    "post",
    script.replace(
      "await mail.send({ n: 2 });",
      "await mail.send({ n: 2 }).catch((error) => { input.to = error.code; });",
    ),
    { input: { to: "ops" } },
  );
  await world.runPhase("second", "Parked");
  const refused = await world.plugin(EVE, "kubectl-approve", "run/second", "2");
  expect(refused.code).toBe(1);
  expect(refused.stderr).toContain("approve");
  const lie = JSON.stringify({ spec: { decisions: { "2": { action: "Approve", by: ANN } } } });
  await expect(
    world.cluster.kubectl("patch", "run", "second", "--type=merge", "-p", lie, `--as=${EVE}`),
  ).rejects.toThrow(/may not decide|approve/);
  const rejected = await world.plugin(ANN, "kubectl-reject", "run/second", "2", "-m", "not now");
  expect(rejected.code).toBe(0);
  expect((await world.runPhase("second", "Succeeded")).status.result).toBe("Rejected");

  await world.run("third", "post", script, { input: { to: "ops" } });
  await world.runPhase("third", "Parked");
  const patch = JSON.stringify({ spec: { decisions: { "2": { action: "Approve", by: ANN } } } });
  await world.cluster.kubectl("patch", "run", "third", "--type=merge", "-p", patch, `--as=${ANN}`);
  await world.runPhase("third", "Succeeded");
  expect(sends()).toHaveLength(before + 1);
});

test("SIGKILL of the controller while a call is parked and one is decided: nothing is lost or done twice", async () => {
  const before = sends().length;
  const first = world.startController();
  await world.run("fourth", "post", script, { input: { to: "ops" } });
  await world.runPhase("fourth", "Parked");
  await world.stopController(first, "SIGKILL");
  for (const child of world.controllers) await world.stopController(child, "SIGKILL");
  expect((await world.plugin(ANN, "kubectl-approve", "fourth", "2")).code).toBe(0);
  world.startController();
  await world.runPhase("fourth", "Succeeded");
  expect(sends()).toHaveLength(before + 1);
});

test("SIGKILL of the dispatcher in the middle of a call: it is started again and the call is sent with the same key", async () => {
  const before = sends().length;
  await world.run("fifth", "post", script, { input: { to: "ops" } });
  await world.runPhase("fifth", "Parked");
  server.behaviour.faults = [{ kind: "hold", tool: "send" }];
  await world.plugin(ANN, "kubectl-approve", "fifth", "2");
  await eventually("the call is under way", async () => server.waiting() === 1);
  // Dispatchers reach the journal under their Toolset's own role, and not as the controller.
  expect(await world.connectedRoles()).toEqual([expect.stringMatching(/^holdpoint_toolset_\d+_[0-9a-f]{8}$/)]);
  expect(world.output).not.toContain("share the controller's database role");
  for (const pid of world.dispatcherPids()) process.kill(pid, "SIGKILL");
  const { status } = await world.runPhase("fifth", "Succeeded");
  server.release();
  expect(
    sends()
      .slice(before)
      .map((entry) => [entry.key, entry.effect]),
  ).toEqual([
    [`${status.runId}/2`, true],
    [`${status.runId}/2`, false],
  ]);
});

test("a deleted Run is cancelled, also when the controller was down [semantics 7.7]", async () => {
  await world.run("sixth", "post", script, { input: { to: "ops" } });
  await world.run("seventh", "post", script, { input: { to: "ops" } });
  await world.runPhase("sixth", "Parked");
  await world.runPhase("seventh", "Parked");
  await world.cluster.kubectl("delete", "run", "sixth");
  await eventually("it is cancelled", async () => (await world.unfinishedRuns()).join() === "seventh");
  for (const child of world.controllers) await world.stopController(child, "SIGKILL");
  await world.cluster.kubectl("delete", "run", "seventh");
  world.startController();
  await eventually("the other is cancelled at the start", async () => (await world.unfinishedRuns()).length === 0);
});

test("the same name and spec again is not run again; a changed spec is [case e03]", async () => {
  const before = server.ledger.entries.length;
  const oneShot =
    'import { mail } from "rewind:tools"; export default async () => (await mail.read({ n: 7 })) !== undefined;';
  await world.run("once", "post", oneShot);
  await world.runPhase("once", "Succeeded");
  await world.cluster.kubectl("delete", "run", "once");
  await world.run("once", "post", oneShot);
  const again = await world.runPhase("once", "Succeeded");
  expect(conditionOf(again.status, "Accepted")).toMatchObject({ status: "True", reason: "AlreadyRan" });
  expect(again.status.result).toBe(true);
  expect(server.ledger.entries).toHaveLength(before + 1);
  await world.cluster.kubectl("delete", "run", "once");
  await world.run("once", "post", oneShot.replace("n: 7", "n: 8"));
  await world.runWhen(
    "once",
    "runs anew",
    (status) => status.phase === "Succeeded" && conditionOf(status, "Accepted")?.reason === "Accepted",
  );
  expect(server.ledger.entries).toHaveLength(before + 2);
});

test("a finished Run with a time to live is deleted and applied again: its outcome is shown, nothing is called [case e03]", async () => {
  const before = server.ledger.entries.length;
  const once =
    'import { mail } from "rewind:tools"; export default async () => (await mail.read({ n: 9 })) !== undefined;';
  await world.run("close-march", "post", once, { ttlAfterFinished: "1s" });
  await eventually(
    "its object is gone",
    async () => !(await world.cluster.kubectl("get", "runs")).includes("close-march"),
  );
  await world.run("close-march", "post", once, { ttlAfterFinished: "1s" });
  const again = await world.runWhen(
    "close-march",
    "shows the outcome",
    (status) => conditionOf(status, "Accepted")?.reason === "AlreadyRan",
  );
  expect(again.status).toMatchObject({ phase: "Succeeded", result: true });
  expect(server.ledger.entries).toHaveLength(before + 1);
  // Longer than its time to live: an object that only shows an outcome stays, or it would be applied for ever.
  await new Promise((resolve) => setTimeout(resolve, 2_000));
  expect((await world.get("runs", "close-march")).metadata.uid).toBe(again.metadata.uid);
});

test("what this version does not carry out is said, never ignored", async () => {
  await world.run("unsupported", "post", script, { deadline: { after: "1h" } });
  const { status } = await world.runPhase("unsupported", "Failed");
  expect(conditionOf(status, "Accepted")).toMatchObject({
    status: "False",
    reason: "NotSupportedYet",
    message: expect.stringContaining("spec.deadline"),
  });
  await world.toolset("unsupported", {
    servers: [{ name: "mail", url: server.url }],
    http: { allowedHosts: ["api.example.com"] },
  });
  const toolset = await world.toolsetWhen("unsupported", "is judged", (now) => conditionOf(now, "Ready") !== undefined);
  expect(conditionOf(toolset.status, "Ready")).toMatchObject({
    status: "False",
    reason: "NotSupportedYet",
    message: expect.stringContaining("spec.http"),
  });
});

test("a result of two megabytes and an error of three end their runs, cut in status and whole in the journal [case e01]", async () => {
  await world.run("large", "post", 'export default async () => "x".repeat(2_000_000);');
  await world.run("loud", "post", 'export default async () => { throw new Error("é".repeat(1_500_000)); };');
  const large = await world.runPhase("large", "Succeeded");
  expect(large.status.resultCut).toMatchObject({ bytes: 2_000_002 });
  const loud = await world.runPhase("loud", "Failed");
  expect(loud.status.error).toMatchObject({ code: "ScriptThrew", cut: { bytes: 3_000_000 } });
  for (const { status } of [large, loud]) expect(JSON.stringify(status).length).toBeLessThan(64 * 1024);
});

test("integers that no double holds come through status with their digits [case a07]", async () => {
  await world.run("exact", "post", "export default async () => ({ id: 9007199254740993n });");
  await world.runPhase("exact", "Succeeded");
  expect(await world.cluster.kubectl("get", "run", "exact", "-o", "jsonpath={.status.result.id}")).toBe(
    "9007199254740993",
  );
});

test("a call whose preview was cut is shown whole to whoever decides, and the digests of two that differ at the end differ [case c07]", async () => {
  const long = `export default async () => { const x = "x".repeat(2_490); await Promise.all([mail.send({ n: 2, note: x + "harmless" } as never), mail.send({ n: 2, note: x + "rm -rf /" } as never)]); };`;
  await world.run("cut", "post", `import { mail } from "rewind:tools";\n${long}`);
  const { status } = await world.runWhen("cut", "has two parked calls", (now) => now.parked?.length === 2);
  const [one, two] = status.parked ?? [];
  expect([one?.previewCut, two?.previewCut]).toEqual([true, true]);
  expect(one?.arguments).toBe(two?.arguments);
  expect(one?.callDigest).not.toBe(two?.callDigest);
  const bare = JSON.stringify({ spec: { decisions: { "1": { action: "Approve", by: ANN } } } });
  await expect(world.cluster.kubectl("patch", "run", "cut", "--type=merge", "-p", bare, `--as=${ANN}`)).rejects.toThrow(
    /callDigest/,
  );
  await world.allowConfigMaps("whole", [ANN]);
  const described = await world.plugin(ANN, "kubectl-holdpoint", "describe", "run/cut");
  expect(described.stdout).toContain("harmless");
  expect(described.stdout).toContain("rm -rf /");
  expect((await world.plugin(ANN, "kubectl-reject", "run/cut", "2", "-m", "no")).stdout).toContain("rm -rf /");
  await world.cluster.kubectl("delete", "run", "cut");
});

test("an unreachable server is named; a Run waits for its Toolset and goes on when it is there", async () => {
  await world.run(
    "early",
    "late",
    'import { mail } from "rewind:tools"; export default async () => { await mail.read({}); return 1; };',
  );
  const waiting = await world.runPhase("early", "Pending");
  expect(conditionOf(waiting.status, "Accepted")).toMatchObject({ status: "Unknown", reason: "ToolsetNotFound" });
  await world.toolset("late", { servers: [{ name: "mail", url: "http://127.0.0.1:9/mcp" }] });
  const failing = await world.toolsetWhen(
    "late",
    "is not reachable",
    (now) => conditionOf(now, "Reachable")?.status === "False",
  );
  expect(conditionOf(failing.status, "Ready")).toMatchObject({
    status: "False",
    reason: "ServerUnreachable",
    message: expect.stringContaining("mail"),
  });
  await world.toolset("late", { servers: [{ name: "mail", url: server.url }] });
  expect((await world.runPhase("early", "Succeeded")).status.result).toBe(1);
});

test("a Toolset with unfinished runs waits for them when it is deleted, and names them", async () => {
  await world.toolset("leaving", {
    servers: [{ name: "mail", url: server.url }],
    policies: [{ tools: ["*"], approval: "Required" }],
  });
  await world.run("staying", "leaving", script, { input: { to: "x" } });
  await world.runPhase("staying", "Parked");
  await world.cluster.kubectl("delete", "toolset", "leaving", "--wait=false");
  const blocked = await world.toolsetWhen(
    "leaving",
    "is blocked",
    (now) => conditionOf(now, "DeletionBlocked") !== undefined,
  );
  expect(conditionOf(blocked.status, "DeletionBlocked")).toMatchObject({
    status: "True",
    reason: "UnfinishedRuns",
    message: expect.stringContaining("staying"),
  });
  await world.cluster.kubectl("delete", "run", "staying");
  await eventually(
    "the Toolset is gone",
    async () => (await world.cluster.kubectl("get", "toolsets")).includes("leaving") === false,
  );
});

test("nothing rewrites an idle object, and an applied manifest never differs [semantics 14.4, 14.5, case e05]", async () => {
  const versions = async () =>
    (
      await world.cluster.kubectl(
        "get",
        "runs",
        "-o",
        "jsonpath={range .items[*]}{.metadata.name}={.metadata.resourceVersion} {end}",
      )
    ).trim();
  await eventually("nothing changes for a second", async () => {
    const before = await versions();
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    return before === (await versions());
  });
  const before = await versions();
  for (const child of world.controllers) await world.stopController(child, "SIGKILL");
  const leads = () => world.output.split('"controller leads"').length;
  const leadsBefore = leads();
  const restarted = world.startController();
  await eventually("the new controller leads", async () => leads() > leadsBefore);
  await new Promise((resolve) => setTimeout(resolve, 2_000));
  expect(await versions()).toBe(before);
  expect(restarted.exitCode).toBeNull();
});

test.each(["Auto", "2025-11-25"])("a third party's server is pinned and called, protocol %s", async (protocol) => {
  const everything = await startEverything();
  const name = `everything-${protocol.toLowerCase()}`;
  await world.toolset(name, {
    servers: [{ name: "everything", url: everything.url, protocol, tools: { exclude: ["trigger-*"] } }],
    policies: [{ tools: ["everything.echo"], approval: "Required" }],
  });
  await world.run(
    name,
    name,
    'import { everything } from "rewind:tools"; export default async () => everything.echo({ message: "held" });',
  );
  await world.runPhase(name, "Parked");
  expect((await world.plugin(ANN, "kubectl-approve", name)).code).toBe(0);
  expect((await world.runPhase(name, "Succeeded")).status.result).toBe("Echo: held");
  const { status } = await world.toolsetWhen(name, "is shown", () => true);
  expect(status.servers?.[0]).toMatchObject({ reachable: true, protocol: "2025-11-25" });
  await everything.stop();
});

test("the example of the documentation runs in a cluster as it does locally", async () => {
  const tracker = await startTracker();
  const [toolset, run] = await Promise.all(
    ["toolset", "run"].map(async (name) =>
      parseAllDocuments(await repositoryFile(`examples/triage/${name}.yaml`))[0]?.toJS(),
    ),
  );
  toolset.spec.servers[0].url = tracker.url;
  await world.apply(toolset);
  await world.apply(run);
  const parked = await world.runPhase("triage", "Parked");
  expect(parked.status.parked?.[0]?.tool).toBe("tracker.create_issue");
  await world.plugin(ANN, "kubectl-approve", "triage");
  expect((await world.runPhase("triage", "Succeeded")).status.result).toMatchObject({ open: 3 });
  await tracker.stop();
});
