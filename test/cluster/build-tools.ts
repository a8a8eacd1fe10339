import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

const TOOLS = join(import.meta.dirname, "tools");
const PACKAGES = {
  etcd: "go.etcd.io/etcd/server/v3",
  "kube-apiserver": "k8s.io/kubernetes/cmd/kube-apiserver",
  kubectl: "k8s.io/kubernetes/cmd/kubectl",
} as const;
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
 * Builds a program from Go modules, once: about ten minutes for all of them with cold caches, nothing afterwards.
 * @param say told what takes long
 * @returns the path of the program
 */
export async function builtTool(name: ToolName, say: (line: string) => void): Promise<string> {
  const folder = toolsFolder();
  const path = join(folder, name);
  if (existsSync(path)) return path;
  mkdirSync(folder, { recursive: true });
  say(`building ${name} from source; this takes minutes, once`);
  // Renamed when it is whole: another process never finds half a program.
  const temporary = `${path}.${process.pid}`;
  const args = ["build", "-trimpath", "-ldflags", linkerFlags(stampedVersion()), "-o", temporary, PACKAGES[name]];
  const build = spawn("go", args, {
    cwd: TOOLS,
    env: { ...process.env, CGO_ENABLED: "0" },
    stdio: ["ignore", "inherit", "inherit"],
  });
  const code = await new Promise((resolve, reject) => build.once("exit", resolve).once("error", reject));
  if (code !== 0) throw new Error(`go build of ${name} ended with ${code}`);
  renameSync(temporary, path);
  return path;
}
