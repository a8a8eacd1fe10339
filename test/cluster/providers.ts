import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";

/** Where a Kubernetes API for tests comes from, in order of preference. */
export type ClusterProvider =
  | { readonly kind: "handed"; readonly kubeconfig: string }
  | { readonly kind: "kind" }
  | { readonly kind: "binaries"; readonly folder: string }
  | { readonly kind: "built" };

/** What the machine offers, as far as it was asked. */
export interface ClusterSurroundings {
  readonly handedKubeconfig: string | undefined;
  /** Whether `kind` is there and a Docker or Podman engine answers. */
  readonly kindWorks: () => boolean;
  readonly assetsFolder: string | undefined;
  readonly hasServers: (folder: string) => boolean;
}

/** A kubeconfig that was handed over, else kind, else binaries, else servers built from source. */
export function chooseCluster({
  handedKubeconfig,
  kindWorks,
  assetsFolder,
  hasServers,
}: ClusterSurroundings): ClusterProvider {
  if (handedKubeconfig) return { kind: "handed", kubeconfig: handedKubeconfig };
  if (kindWorks()) return { kind: "kind" };
  if (assetsFolder && hasServers(assetsFolder)) return { kind: "binaries", folder: assetsFolder };
  return { kind: "built" };
}

function answers(program: string, args: readonly string[]): boolean {
  try {
    execFileSync(program, args, { stdio: "ignore", timeout: 10_000 });
    return true;
  } catch {
    return false;
  }
}

/** Asks this machine. @param servers the programs that a folder of binaries must hold to be of use */
export function probeCluster(servers: readonly string[]): ClusterSurroundings {
  return {
    handedKubeconfig: process.env["HOLDPOINT_TEST_KUBECONFIG"],
    kindWorks: () => answers("kind", ["version"]) && (answers("docker", ["info"]) || answers("podman", ["info"])),
    assetsFolder: process.env["KUBEBUILDER_ASSETS"],
    hasServers: (folder) => servers.every((name) => existsSync(join(folder, name))),
  };
}
