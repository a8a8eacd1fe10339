import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { builtTool, type ToolName } from "./build-tools.ts";
import { type ControlPlanePrograms, startControlPlane, untilReady } from "./control-plane.ts";
import { findKubectl } from "./kubectl.ts";
import { chooseCluster, probeCluster } from "./providers.ts";

const run = promisify(execFile);
const KIND_TIMEOUT_MS = 5 * 60_000;

/** A Kubernetes API for tests, wherever it comes from. */
export interface Cluster {
  readonly provider: string;
  readonly kubeconfig: string;
  /** Path of a kubectl that fits. */
  readonly kubectl: string;
  /** Kills the API server and starts it again; only where it is ours. */
  readonly restartApiServer?: () => Promise<void>;
  stop(): Promise<void>;
}

export interface ClusterOptions {
  /** Of the cluster, where the provider has names. */
  readonly name?: string;
  /** Whether garbage is collected and deleted namespaces are emptied. A cluster that was handed over and kind always do. */
  readonly controllerManager?: boolean;
  /** Told what takes long. */
  readonly say?: (line: string) => void;
}

/** Gives a Kubernetes API, by the first provider that works here. Several may run at once. */
export async function startCluster(options: ClusterOptions = {}): Promise<Cluster> {
  const say = options.say ?? (() => {});
  const names: readonly ToolName[] = [
    "etcd",
    "kube-apiserver",
    ...(options.controllerManager ? (["kube-controller-manager"] as const) : []),
  ];
  const provider = chooseCluster(probeCluster(names));
  switch (provider.kind) {
    case "handed": {
      const { kubeconfig } = provider;
      await untilReady(kubeconfig, () => undefined);
      return { provider: "handed", kubeconfig, kubectl: await findKubectl(kubeconfig, say), stop: async () => {} };
    }
    case "kind":
      return await startKind(options.name ?? `holdpoint-${process.pid}`, say);
    case "binaries":
      return await startServers("binaries", names, async (name) => join(provider.folder, name), say);
    case "built":
      return await startServers("built", names, (name) => builtTool(name, say), say);
  }
}

async function startServers(
  provider: string,
  names: readonly ToolName[],
  find: (name: ToolName) => Promise<string>,
  say: (line: string) => void,
): Promise<Cluster> {
  const programs: ControlPlanePrograms = {
    etcd: await find("etcd"),
    apiServer: await find("kube-apiserver"),
    ...(names.includes("kube-controller-manager") ? { controllerManager: await find("kube-controller-manager") } : {}),
  };
  const { kubeconfig, restart, stop } = await startControlPlane(programs);
  try {
    return { provider, kubeconfig, kubectl: await findKubectl(kubeconfig, say), restartApiServer: restart, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function startKind(name: string, say: (line: string) => void): Promise<Cluster> {
  const folder = await mkdtemp(join(tmpdir(), "holdpoint-kind-"));
  const kubeconfig = join(folder, "kubeconfig");
  say(`creating the kind cluster ${name}`);
  await run("kind", ["create", "cluster", "--name", name, "--kubeconfig", kubeconfig, "--wait", "120s"], {
    timeout: KIND_TIMEOUT_MS,
  });
  const stop = async () => {
    await run("kind", ["delete", "cluster", "--name", name], { timeout: KIND_TIMEOUT_MS });
    await rm(folder, { recursive: true, force: true });
  };
  try {
    return { provider: "kind", kubeconfig, kubectl: await findKubectl(kubeconfig, say), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
