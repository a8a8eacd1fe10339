import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { until, watchServer } from "../servers/watched-server.ts";
import { withFileLock } from "./file-lock.ts";

const TOOLS = join(import.meta.dirname, "tools");
const PACKAGES = {
  etcd: "go.etcd.io/etcd/server/v3",
  "kube-apiserver": "k8s.io/kubernetes/cmd/kube-apiserver",
  "kube-controller-manager": "k8s.io/kubernetes/cmd/kube-controller-manager",
  kubectl: "k8s.io/kubernetes/cmd/kubectl",
} as const;
/** The API server takes seven minutes on two cores with cold caches. */
const BUILD_TIMEOUT_MS = 30 * 60_000;
const GO_VERSION_TIMEOUT_MS = 10_000;
export type ToolName = keyof typeof PACKAGES;

/** The version that the servers say they are: without the stamp they call themselves v0.0.0. */
function stampedVersion(): string {
  const version = /k8s\.io\/kubernetes (v\d+\.\d+\.\d+)/.exec(readFileSync(join(TOOLS, "go.mod"), "utf8"))?.[1];
  if (version === undefined) throw new Error("test/cluster/tools/go.mod names no version of k8s.io/kubernetes");
  return version;
}

function linkerFlags(version: string): string {
  const [major = "", minor = ""] = version.slice(1).split(".");
  const stamps = ["k8s.io/component-base/version", "k8s.io/client-go/pkg/version"].flatMap((name) => [
    `-X ${name}.gitVersion=${version}`,
    `-X ${name}.gitMajor=${major}`,
    `-X ${name}.gitMinor=${minor}`,
  ]);
  return ["-s -w", ...stamps].join(" ");
}

/** The folder outside the repository that keeps what was built, by everything that it depends on. */
export function toolsFolder(): string {
  const hash = createHash("sha256");
  for (const file of ["go.mod", "go.sum"]) hash.update(readFileSync(join(TOOLS, file)));
  const cache = process.env["XDG_CACHE_HOME"] || join(homedir(), ".cache");
  return join(cache, "holdpoint", "tools", hash.digest("hex").slice(0, 16));
}

/**
 * The program in KUBEBUILDER_ASSETS, or else a built one.
 * @param say told what takes long
 */
export async function foundTool(name: ToolName, say: (line: string) => void): Promise<string> {
  const handed = join(process.env["KUBEBUILDER_ASSETS"] || toolsFolder(), name);
  return existsSync(handed) ? handed : await builtTool(name, say);
}

/**
 * Builds a program from Go modules, once: about ten minutes for all of them with cold caches, nothing afterwards. A build ends with
 * this process, however that ends; of several processes that need programs at the same time, one builds and the others wait.
 * @param say told what takes long
 * @returns the path of the program
 * @throws Error saying what would help, or with the end of the compiler's output
 */
export async function builtTool(name: ToolName, say: (line: string) => void): Promise<string> {
  const folder = toolsFolder();
  const path = join(folder, name);
  if (existsSync(path)) return path;
  mkdirSync(folder, { recursive: true });
  say(`${name} has to be built from source, once: this takes minutes`);
  await withFileLock(join(folder, "lock"), BUILD_TIMEOUT_MS, async () => {
    if (!existsSync(path)) await build(name, path);
  });
  return path;
}

async function build(name: ToolName, path: string): Promise<void> {
  requireGo();
  // Renamed when it is whole: another process never finds half a program.
  const temporary = `${path}.${process.pid}`;
  const log = `${path}.log`;
  rmSync(log, { force: true });
  const args = ["build", "-trimpath", "-ldflags", linkerFlags(stampedVersion()), "-o", temporary, PACKAGES[name]];
  const compiler = watchServer({ command: ["env", "CGO_ENABLED=0", "GOWORK=off", "go", ...args], cwd: TOOLS, log });
  try {
    await until(`go builds ${name}; its output is in ${log}`, BUILD_TIMEOUT_MS, async () => !compiler.running);
    if (!existsSync(temporary))
      throw new Error(`go did not build ${name}:\n${readFileSync(log, "utf8").slice(-2_000)}`);
    renameSync(temporary, path);
    rmSync(log, { force: true });
  } finally {
    await compiler.stop("SIGKILL");
    rmSync(temporary, { force: true });
  }
}

function requireGo(): void {
  try {
    execFileSync("go", ["version"], { stdio: "ignore", timeout: GO_VERSION_TIMEOUT_MS });
  } catch (error) {
    throw new Error(
      "no Kubernetes API for the tests: install kind with a container engine, or Go to build one, or set KUBEBUILDER_ASSETS or HOLDPOINT_TEST_KUBECONFIG",
      { cause: error },
    );
  }
}
