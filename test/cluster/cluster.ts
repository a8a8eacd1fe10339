import { execFile, execFileSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { builtTool } from "./build-tools.ts";
import { type ControlPlanePrograms, startControlPlane, untilReady } from "./control-plane.ts";
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
  /** Told what takes long. */
  readonly say?: (line: string) => void;
}

/** Gives a Kubernetes API, by the first provider that works here. Several may run at once. */
export async function startCluster(options: ClusterOptions = {}): Promise<Cluster> {
  const say = options.say ?? (() => {});
  const provider = chooseCluster(probeCluster());
  switch (provider.kind) {
    case "handed": {
      await untilReady(provider.kubeconfig, () => true);
      return {
        provider: "handed",
        kubeconfig: provider.kubeconfig,
        kubectl: await findKubectl(say),
        stop: async () => {},
      };
    }
    case "kind":
      return await startKind(options.name ?? `holdpoint-${process.pid}`, say);
    case "binaries":
      return await startServers("binaries", programsIn(provider.folder), say);
    case "built": {
      const programs = { etcd: await builtTool("etcd", say), apiServer: await builtTool("kube-apiserver", say) };
      return await startServers("built", programs, say);
    }
  }
}

function programsIn(folder: string): ControlPlanePrograms {
  return { etcd: join(folder, "etcd"), apiServer: join(folder, "kube-apiserver") };
}

async function startServers(
  provider: string,
  programs: ControlPlanePrograms,
  say: (line: string) => void,
): Promise<Cluster> {
  const kubectl = await findKubectl(say);
  const { kubeconfig, restart, stop } = await startControlPlane(programs);
  return { provider, kubeconfig, kubectl, restartApiServer: restart, stop };
}

async function startKind(name: string, say: (line: string) => void): Promise<Cluster> {
  const folder = await mkdtemp(join(tmpdir(), "holdpoint-kind-"));
  const kubeconfig = join(folder, "kubeconfig");
  say(`creating the kind cluster ${name}`);
  await run("kind", ["create", "cluster", "--name", name, "--kubeconfig", kubeconfig, "--wait", "120s"], {
    timeout: KIND_TIMEOUT_MS,
  });
  return {
    provider: "kind",
    kubeconfig,
    kubectl: await findKubectl(say),
    stop: async () => {
      await run("kind", ["delete", "cluster", "--name", name], { timeout: KIND_TIMEOUT_MS });
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** The kubectl on the PATH, in KUBEBUILDER_ASSETS, or a built one. */
async function findKubectl(say: (line: string) => void): Promise<string> {
  const assets = process.env["KUBEBUILDER_ASSETS"];
  const handed = process.env["HOLDPOINT_TEST_KUBECTL"];
  for (const candidate of [handed, "kubectl", assets && join(assets, "kubectl")]) {
    if (!candidate) continue;
    try {
      execFileSync(candidate, ["version", "--client"], { stdio: "ignore", timeout: 10_000 });
      return candidate;
    } catch {
      // Not there; the next one is tried.
    }
  }
  return await builtTool("kubectl", say);
}
