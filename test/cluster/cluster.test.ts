import { execFile, spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { eventually } from "../dispatcher/eventually.ts";
import { foundTool } from "./build-tools.ts";
import { startCluster } from "./cluster.ts";
import { startControlPlane } from "./control-plane.ts";

const run = promisify(execFile);
const main = join(import.meta.dirname, "main.ts");
/** The controller manager may have to be built. */
const BUILD_TIMEOUT_MS = 15 * 60_000;
const START_TIMEOUT_MS = 120_000;
const say = (line: string) => void process.stderr.write(`${line}\n`);

/** Runs kubectl against a cluster and gives what it printed. */
async function kubectl(kubeconfig: string, ...args: readonly string[]): Promise<string> {
  const program = process.env["HOLDPOINT_TEST_KUBECTL"] ?? "kubectl";
  return (await run(program, ["--kubeconfig", kubeconfig, ...args], { timeout: 60_000 })).stdout;
}

/** The command lines of all processes that contain one of the texts. */
async function commandLines(...texts: readonly string[]): Promise<string[]> {
  const { stdout } = await run("ps", ["-eo", "args"], { maxBuffer: 16 * 1024 * 1024 });
  return stdout.split("\n").filter((line) => texts.some((text) => line.includes(text)));
}

async function portOf(kubeconfig: string): Promise<string> {
  return new URL(parse(await readFile(kubeconfig, "utf8")).clusters[0].cluster.server).port;
}

test("a kubeconfig that was handed over is used", { timeout: START_TIMEOUT_MS }, async () => {
  const cluster = await startCluster();
  expect(cluster.provider).toBe("handed");
  expect(cluster.kubeconfig).toBe(process.env["HOLDPOINT_TEST_KUBECONFIG"]);
  expect(await kubectl(cluster.kubeconfig, "get", "namespace", "default", "-o", "name")).toBe("namespace/default\n");
  await cluster.stop();
  expect(await kubectl(cluster.kubeconfig, "get", "--raw", "/readyz")).toBe("ok");
});

test("two run at once, and when their owner is killed nothing is left running", {
  timeout: START_TIMEOUT_MS,
}, async () => {
  const programs = { etcd: await foundTool("etcd", say), apiServer: await foundTool("kube-apiserver", say) };
  const code = `
    import { startControlPlane } from ${JSON.stringify(new URL("./control-plane.ts", import.meta.url).href)};
    const programs = ${JSON.stringify(programs)};
    const both = await Promise.all([startControlPlane(programs), startControlPlane(programs)]);
    console.log(JSON.stringify(both.map((plane) => plane.kubeconfig)));
    setInterval(() => {}, 1000);`;
  const owner = spawn(process.execPath, ["--input-type=module", "-e", code], { stdio: ["ignore", "pipe", "inherit"] });
  const [left = "", right = ""] = await new Promise<string[]>((resolve, reject) => {
    owner.stdout.once("data", (chunk) => resolve(JSON.parse(String(chunk))));
    owner.once("exit", () => reject(new Error("the owner ended before its clusters were there")));
  });
  await kubectl(left, "create", "namespace", "only-left");
  await expect(kubectl(right, "get", "namespace", "only-left")).rejects.toThrow(/NotFound/);

  const folders = [left, right].map((kubeconfig) => join(kubeconfig, ".."));
  const [server = ""] = await commandLines(`--secure-port=${await portOf(left)} `);
  const etcdUrl = /--etcd-servers=(\S+)/.exec(server)?.[1] ?? "no etcd";
  const traces = [...folders, `--secure-port=${await portOf(left)} `, `--listen-client-urls=${etcdUrl} `];
  // Two watchdogs a cluster, and of the left one the two servers.
  expect(await commandLines(...traces)).toHaveLength(6);
  owner.kill("SIGKILL");
  await eventually("no server and no watchdog is left", async () => (await commandLines(...traces)).length === 0);
  await Promise.all(folders.map((folder) => rm(folder, { recursive: true, force: true })));
});

test("a server that cannot start is named, with the end of its log", { timeout: START_TIMEOUT_MS }, async () => {
  const apiServer = await foundTool("kube-apiserver", say);
  const starting = startControlPlane({ etcd: "false", apiServer });
  await expect(starting).rejects.toThrow(/etcd ended[\s\S]*the end of apiserver\.log/);
});

test("with a controller manager, deleted namespaces go away and the API server comes back after a kill", {
  timeout: BUILD_TIMEOUT_MS,
}, async () => {
  const plane = await startControlPlane({
    etcd: await foundTool("etcd", say),
    apiServer: await foundTool("kube-apiserver", say),
    controllerManager: await foundTool("kube-controller-manager", say),
  });
  try {
    await kubectl(plane.kubeconfig, "create", "namespace", "short-lived");
    await kubectl(plane.kubeconfig, "delete", "namespace", "short-lived", "--timeout=50s");
    await kubectl(plane.kubeconfig, "create", "namespace", "kept");
    await plane.restart();
    await eventually(
      "the namespace is still there",
      () => kubectl(plane.kubeconfig, "get", "namespace", "kept"),
      60_000,
    );
  } finally {
    await plane.stop();
  }
});

test("make cluster leaves a cluster running, once, and make cluster-down ends it", {
  timeout: BUILD_TIMEOUT_MS,
}, async () => {
  const folder = await mkdtemp(join(tmpdir(), "holdpoint-make-cluster-"));
  const env = {
    ...process.env,
    HOLDPOINT_CLUSTER_FOLDER: folder,
    HOLDPOINT_TEST_KUBECONFIG: "",
    HOLDPOINT_TEST_KUBECTL: "",
    NO_COLOR: "1",
  };
  const command = async (name: string) => (await run(process.execPath, [main, name], { env })).stdout;
  const state = async () => JSON.parse(await readFile(join(folder, "state.json"), "utf8"));
  try {
    expect(await command("up")).toMatch(/^ready: [\s\S]*export KUBECONFIG=.*\n {2}\S*kubectl get toolsets,runs -A\n/m);
    const { pid, token, cluster } = await state();
    expect(await kubectl(cluster.kubeconfig, "get", "toolsets,runs", "-A")).toBe("");
    expect(await command("up")).toMatch(/^ready: /m);
    expect((await state()).pid).toBe(pid);
    expect(await command("down")).toMatch(/^stopped the Kubernetes API/);
    expect(await commandLines(token)).toEqual([]);
    expect(await command("down")).toMatch(/^nothing to stop/);
  } finally {
    await command("down");
    await rm(folder, { recursive: true });
  }
});

test("make cluster uses a cluster that was handed over, and make cluster-down leaves it alone", {
  timeout: START_TIMEOUT_MS,
}, async () => {
  const folder = await mkdtemp(join(tmpdir(), "holdpoint-make-cluster-"));
  const env = { ...process.env, HOLDPOINT_CLUSTER_FOLDER: folder, NO_COLOR: "1" };
  const command = async (name: string) => (await run(process.execPath, [main, name], { env })).stdout;
  try {
    expect(await command("up")).toMatch(/^ready: a Kubernetes API \(handed\)/m);
    expect(await command("down")).toMatch(/^your cluster goes on running/);
    expect(await kubectl(process.env["HOLDPOINT_TEST_KUBECONFIG"] ?? "", "get", "--raw", "/readyz")).toBe("ok");
  } finally {
    await command("down");
    await rm(folder, { recursive: true });
  }
});
