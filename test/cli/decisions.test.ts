import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { decide } from "../../src/cli/decide.ts";
import { openKubeApi } from "../../src/cli/kube-api.ts";
import { type ApiObject, CONTROLLER } from "../cluster/api-client.ts";
import { type ResourceCluster, startResourceCluster } from "../cluster/crds-cluster.ts";
import { run, toolset } from "../cluster/crds-manifests.ts";
import { type Ended, runPlugin } from "./plugin-process.ts";

const DIGEST = `sha256:${"a".repeat(64)}`;
const ANN = "ann@example.com";
const BOB = "bob@example.com";
const CAROL = "carol@example.com";

let cluster: ResourceCluster;
let folder: string;
let kubeconfig: string;
let count = 0;

beforeAll(async () => {
  cluster = await startResourceCluster("plugins");
  folder = await mkdtemp(join(tmpdir(), "holdpoint-plugins-"));
  kubeconfig = join(folder, "kubeconfig");
  await writeFile(kubeconfig, await cluster.kubectl("config", "view", "--raw", "--flatten"), { mode: 0o600 });
  await allow("approver", [ANN, BOB], ["approve"], ["runs"]);
  await allow("reader", [ANN, BOB, CAROL], ["get", "list", "patch"], ["runs", "toolsets"]);
}, 900_000);

afterAll(async () => {
  await cluster?.stop();
  if (folder !== undefined) await rm(folder, { recursive: true });
});

async function allow(name: string, users: readonly string[], verbs: string[], resources: string[]): Promise<void> {
  const metadata = { name };
  const rules = [{ apiGroups: ["holdpoint.dev"], resources, verbs }];
  const role = { apiVersion: "rbac.authorization.k8s.io/v1", kind: "Role", metadata, rules };
  await cluster.kubectlWithInput(JSON.stringify(role), "apply", "-f", "-");
  await cluster.kubectl("create", "rolebinding", name, `--role=${name}`, ...users.map((user) => `--user=${user}`));
}

/** Runs a plugin as somebody, in the tests' namespace. */
function as(user: string, program: string, ...args: readonly string[]): Promise<Ended> {
  return runPlugin(program, [...args, "--kubeconfig", kubeconfig, "-n", cluster.namespace, "--as", user]);
}

function parkedCall(id = "7", changes: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    id,
    seq: Number(id.split("-")[0]),
    tool: "github.create_issue",
    reason: "ApprovalRequired",
    message: "The policy asks for an approval.",
    since: "2026-05-01T12:00:00Z",
    arguments: '{"title":"x"}',
    argumentsBytes: 13,
    callDigest: DIGEST,
    actions: ["Approve", "Reject"],
    ...changes,
  };
}

/** A Run whose status the controller has written. Resolves to its name. */
async function runWithStatus(status: Record<string, unknown>, labels: Record<string, string> = {}): Promise<string> {
  count += 1;
  const name = `run-${count}`;
  const made = await cluster.api.post(
    cluster.path("Run"),
    { ...run({}, name), metadata: { name, labels } },
    CONTROLLER,
  );
  expect(made.code, made.body.message).toBe(201);
  const written = await cluster.api.merge(`${cluster.path("Run")}/${name}/status`, { status }, CONTROLLER);
  expect(written.code, written.body.message).toBe(200);
  return name;
}

function parkedRun(...calls: Record<string, unknown>[]): Promise<string> {
  return runWithStatus({ phase: "Parked", parked: calls.length === 0 ? [parkedCall()] : calls });
}

async function decisionsOf(name: string): Promise<Record<string, Record<string, unknown>>> {
  const { body } = await cluster.api.get(`${cluster.path("Run")}/${name}`);
  return ((body as ApiObject).spec?.["decisions"] ?? {}) as Record<string, Record<string, unknown>>;
}

describe("kubectl approve and reject", () => {
  test("[semantics 7.9] approve shows the call and writes who, with the digest of what was shown", async () => {
    const name = await parkedRun();
    const ended = await as(ANN, "kubectl-approve", `run/${name}`, "7", "-m", "looks right");
    expect(ended).toMatchObject({ code: 0, stderr: "" });
    expect(ended.stdout).toContain("github.create_issue");
    expect(ended.stdout).toContain('{"title":"x"}');
    expect(ended.stdout).toContain(`call 7 of run/${name} approved as ${ANN}`);
    expect(ended.stdout).toContain(`kubectl get run ${name}`);
    expect(await decisionsOf(name)).toEqual({
      "7": { action: "Approve", by: ANN, reason: "looks right", callDigest: DIGEST },
    });
  });

  test("reject takes the bare name, and -o json prints the decision and nothing else", async () => {
    const name = await parkedRun();
    const ended = await as(BOB, "kubectl-reject", name, "7", "-m", "no", "-o", "json");
    expect(ended).toMatchObject({ code: 0, stderr: "" });
    expect(JSON.parse(ended.stdout)).toEqual({
      namespace: cluster.namespace,
      run: name,
      id: "7",
      tool: "github.create_issue",
      decision: { action: "Reject", by: BOB, reason: "no", callDigest: DIGEST },
      stoodAlready: false,
    });
  });

  test("without an id the only parked call is meant; of several none is, and they are listed", async () => {
    const one = await parkedRun();
    expect((await as(ANN, "kubectl-approve", one)).code).toBe(0);
    const two = await parkedRun(parkedCall("7"), parkedCall("9-2", { tool: "github.close_issue" }));
    const ended = await as(ANN, "kubectl-approve", two);
    expect(ended.code).toBe(1);
    expect(ended.stderr).toMatch(/7 {2}github\.create_issue[\s\S]*9-2 {2}github\.close_issue/);
    expect(await decisionsOf(two)).toEqual({});
  });

  test("a call that is not parked is refused, with those that are", async () => {
    const name = await parkedRun();
    const ended = await as(ANN, "kubectl-approve", name, "3");
    expect(ended.code).toBe(1);
    expect(ended.stderr).toContain(`call 3 of run/${name} is not parked`);
    expect(ended.stderr).toContain("7  github.create_issue");
    expect(await decisionsOf(name)).toEqual({});
  });

  test("[case c05] on a parent whose child waits, the child is named", async () => {
    const parent = await runWithStatus({ phase: "Waiting", waitingFor: "Child" });
    const child = await runWithStatus(
      { phase: "Parked", parked: [parkedCall("2")] },
      { "holdpoint.dev/parent": parent },
    );
    const ended = await as(ANN, "kubectl-approve", parent, "2");
    expect(ended.code).toBe(1);
    expect(ended.stderr).toContain(`run/${child} 2`);
    expect(await decisionsOf(child)).toEqual({});
  });

  test("[case c07] a preview that was cut is said to be, with the whole size, and the digest goes along", async () => {
    const name = await parkedRun(
      parkedCall("7", { previewCut: true, arguments: '{"script":"aaa', argumentsBytes: 2_543 }),
    );
    const ended = await as(ANN, "kubectl-approve", name, "7");
    expect(ended).toMatchObject({ code: 0 });
    expect(ended.stdout).toMatch(/cut: only the beginning of 2543 bytes is shown/);
    expect((await decisionsOf(name))["7"]).toMatchObject({ callDigest: DIGEST });
  });

  test("who lacks the verb approve is refused by the API server, in its own words", async () => {
    const name = await parkedRun();
    const ended = await as(CAROL, "kubectl-approve", name, "7");
    expect(ended.code).toBe(1);
    expect(ended.stderr).toContain(`user ${CAROL} may not decide`);
    expect(await decisionsOf(name)).toEqual({});
  });

  test("who is not among the approvers is refused by the API server, in its own words", async () => {
    const name = await parkedRun(parkedCall("7", { approvers: { users: [BOB] } }));
    const ended = await as(ANN, "kubectl-approve", name, "7");
    expect(ended.code).toBe(1);
    expect(ended.stderr).toContain(`${ANN} is not among the approvers of this call`);
  });

  test("the same decision by the same user again is no error; another one is told who decided what and when", async () => {
    const name = await parkedRun();
    expect((await as(ANN, "kubectl-approve", name, "7")).code).toBe(0);
    const again = await as(ANN, "kubectl-approve", name, "7");
    expect(again).toMatchObject({ code: 0 });
    expect(again.stdout).toContain("had already been approved");
    const other = await as(BOB, "kubectl-reject", name, "7", "-m", "no");
    expect(other.code).toBe(1);
    expect(other.stderr).toMatch(new RegExp(`call 7 of run/${name} was approved by ${ANN} at 20..-..-..T`));
  });

  test("[case c01] of two that decide at once exactly one wins, and the other is told who did", async () => {
    for (let round = 0; round < 5; round += 1) {
      const name = await parkedRun();
      const [ann, bob] = await Promise.all([
        as(ANN, "kubectl-approve", name, "7"),
        as(BOB, "kubectl-reject", name, "7", "-m", "no"),
      ]);
      const decision = (await decisionsOf(name))["7"];
      const [winner, loser] = decision?.["by"] === ANN ? [ann, bob] : [bob, ann];
      expect([winner.code, loser.code]).toEqual([0, 1]);
      expect(loser.stderr).toContain(decision?.["by"] === ANN ? `approved by ${ANN}` : `rejected by ${BOB}`);
    }
  });

  test("[case c01] 100 times over, from the plugin's own code: one entry each time, the other one is refused", async () => {
    const [ann, bob] = [ANN, BOB].map((user) => openKubeApi({ kubeconfig, namespace: cluster.namespace, as: user }));
    if (ann === undefined || bob === undefined) throw new Error("two users are needed");
    for (let round = 0; round < 100; round += 1) {
      const wish = { namespace: cluster.namespace, run: await parkedRun(), callId: "7" };
      const outcomes = await Promise.allSettled([
        decide(ann, { ...wish, action: "Approve" }, async () => {}),
        decide(bob, { ...wish, action: "Reject", reason: "no" }, async () => {}),
      ]);
      const decision = (await decisionsOf(wish.run))["7"];
      const lost = outcomes.filter((outcome) => outcome.status === "rejected");
      expect(lost).toHaveLength(1);
      expect(lost[0]?.reason).toMatchObject({ code: "AlreadyDecided" });
      expect(lost[0]?.reason.message).toContain(`by ${decision?.["by"]}`);
    }
  });

  test("a status that changes all the while is no obstacle: the Run is read again", async () => {
    const name = await parkedRun();
    const path = `${cluster.path("Run")}/${name}/status`;
    let done = false;
    const churn = (async () => {
      for (let total = 1; !done; total += 1) {
        const calls = { total, succeeded: 0, failed: 0, parked: 1, inFlight: 0 };
        await cluster.api.merge(path, { status: { calls } }, CONTROLLER);
        await new Promise((resolve) => setTimeout(resolve, 40));
      }
    })();
    const ended = await as(ANN, "kubectl-approve", name, "7").finally(() => {
      done = true;
    });
    await churn;
    expect(ended).toMatchObject({ code: 0, stderr: "" });
  });

  test("near the bound of 100 entries those of calls that wait no longer are removed", async () => {
    const ids = Array.from({ length: 95 }, (_, index) => String(index + 10));
    const name = await parkedRun(...ids.slice(0, 50).map((id) => parkedCall(id)));
    const path = `${cluster.path("Run")}/${name}`;
    const decision = { action: "Approve", by: "system:admin", callDigest: DIGEST };
    for (const part of [ids.slice(0, 50), ids.slice(50)]) {
      await cluster.api.merge(`${path}/status`, { status: { parked: part.map((id) => parkedCall(id)) } }, CONTROLLER);
      const decisions = Object.fromEntries(part.map((id) => [id, { ...decision, by: CONTROLLER.user }]));
      const written = await cluster.api.merge(path, { spec: { decisions } }, CONTROLLER);
      expect(written.code, written.body.message).toBe(200);
    }
    await cluster.api.merge(
      `${path}/status`,
      { status: { parked: [parkedCall("104"), parkedCall("200")] } },
      CONTROLLER,
    );
    const ended = await as(ANN, "kubectl-approve", name, "200");
    expect(ended).toMatchObject({ code: 0, stderr: "" });
    expect(Object.keys(await decisionsOf(name)).sort()).toEqual(["104", "200"]);
  });

  test("[semantics 2.4] what would mislead a reader is shown as escapes; -o json gives it raw", async () => {
    const call = parkedCall("7", { tool: "github.create\u202eissue", arguments: '{"title":"\u202ereversed\u200b"}' });
    const name = await parkedRun(call);
    const shown = await as(ANN, "kubectl-holdpoint", "describe", name);
    expect(shown.stdout).toContain('{"title":"\\u202ereversed\\u200b"}');
    expect(shown.stdout).not.toMatch(/[\u202e\u200b]/);
    const raw = JSON.parse((await as(ANN, "kubectl-holdpoint", "describe", name, "-o", "json")).stdout);
    expect(raw.status.parked[0].arguments).toBe(call["arguments"]);
  });
});

describe("kubectl holdpoint", () => {
  test("pending lists parked calls with their parents; -A needs the right to list everywhere", async () => {
    const name = await runWithStatus(
      { phase: "Parked", parked: [parkedCall("2")] },
      { "holdpoint.dev/parent": "mother" },
    );
    const { stdout } = await as(ANN, "kubectl-holdpoint", "pending");
    expect(stdout).toMatch(new RegExp(`^RUN +ID +TOOL[\\s\\S]*${name} +2 +github.create_issue[^\\n]*run/mother`, "m"));
    const decided = await parkedRun();
    await as(ANN, "kubectl-approve", decided);
    expect((await as(ANN, "kubectl-holdpoint", "pending")).stdout).not.toContain(`${decided} `);
    const everywhere = await as(ANN, "kubectl-holdpoint", "pending", "-A");
    expect(everywhere.code).toBe(1);
    expect(everywhere.stderr).toContain("cannot list resource");
  });

  test("answer carries the answers; what is not offered is refused before anything is written", async () => {
    const unknown = { reason: "OutcomeUnknown", actions: ["Approve", "Reject", "Answer"] };
    const name = await parkedRun(parkedCall("7", unknown));
    const ended = await as(ANN, "kubectl-holdpoint", "answer", name, "7", "--answers", '{"id":9007199254740993}');
    expect(ended).toMatchObject({ code: 0, stderr: "" });
    const { stdout } = await as(ANN, "kubectl-holdpoint", "describe", name, "-o", "json");
    expect(stdout).toContain('"id": 9007199254740993');
    const other = await as(ANN, "kubectl-holdpoint", "answer", await parkedRun(), "7", "--answers", "{}");
    expect(other.code).toBe(1);
    expect(other.stderr).toContain("it offers Approve, Reject");
    const bad = await as(ANN, "kubectl-holdpoint", "answer", name, "7", "--answers", "{");
    expect(bad.code).toBe(2);
  });

  test("types prints the declarations, --prompt the lines for a prompt", async () => {
    await cluster.api.post(cluster.path("Toolset"), toolset({}, "typed"), CONTROLLER);
    const path = `/api/v1/namespaces/${cluster.namespace}/configmaps`;
    const data = {
      "rewind-tools.d.ts": 'declare module "rewind:tools" {}\n',
      "prompt.txt": "github.ping() → string\n",
    };
    await cluster.api.post(path, { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "typed-1" }, data });
    const status = { declarations: { configMap: "typed-1" } };
    await cluster.api.merge(`${cluster.path("Toolset")}/typed/status`, { status }, CONTROLLER);
    const args = ["--kubeconfig", kubeconfig, "-n", cluster.namespace];
    expect((await runPlugin("kubectl-holdpoint", ["types", "typed", ...args])).stdout).toBe(data["rewind-tools.d.ts"]);
    expect((await runPlugin("kubectl-holdpoint", ["types", "typed", "--prompt", ...args])).stdout).toBe(
      data["prompt.txt"],
    );
  });

  test("cancel sets spec.cancel once, and says so of a run that has ended", async () => {
    const name = await parkedRun();
    expect((await as(ANN, "kubectl-holdpoint", "cancel", name)).code).toBe(0);
    const { body } = await cluster.api.get(`${cluster.path("Run")}/${name}`);
    expect(body.spec?.["cancel"]).toBe(true);
    const ended = await as(ANN, "kubectl-holdpoint", "cancel", await runWithStatus({ phase: "Succeeded" }));
    expect(ended.stdout).toContain("has ended already: Succeeded");
  });

  test("repin changes the annotation", async () => {
    await cluster.api.post(cluster.path("Toolset"), toolset({}, "again"), CONTROLLER);
    expect((await as(ANN, "kubectl-holdpoint", "repin", "again")).code).toBe(0);
    const { body } = await cluster.api.get(`${cluster.path("Toolset")}/again`);
    const annotations = body.metadata?.["annotations"] as Record<string, string>;
    expect(Date.parse(annotations["holdpoint.dev/repin"] ?? "")).toBeGreaterThan(Date.now() - 60_000);
  });
});

test("a context that does not exist, and a server that does not answer, are told in one line", async () => {
  const unknown = await runPlugin("kubectl-approve", ["r", "7", "--kubeconfig", kubeconfig, "--context", "nowhere"]);
  expect(unknown).toMatchObject({ code: 1, stdout: "" });
  expect(unknown.stderr).toMatch(/no cluster for context "nowhere"/);
  const dead = join(folder, "dead");
  const cluster = { server: "https://127.0.0.1:1", "insecure-skip-tls-verify": true };
  const config = {
    clusters: [{ name: "c", cluster }],
    users: [{ name: "u", user: {} }],
    contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
    "current-context": "x",
  };
  await writeFile(dead, JSON.stringify(config));
  const silent = await runPlugin("kubectl-approve", ["r", "7", "--kubeconfig", dead]);
  expect(silent.code).toBe(1);
  expect(silent.stderr).toMatch(/cannot be reached: .*ECONNREFUSED/);
});
