import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { builtTool } from "./build-tools.ts";

const run = promisify(execFile);
const VERSION_TIMEOUT_MS = 15_000;
/** Kubernetes supports a kubectl that is one minor version older or newer than the API server. */
const SKEW_MINORS_MAX = 1;

interface Version {
  readonly major: string;
  readonly minor: string;
}

/**
 * Whether a kubectl may be used with a server.
 * @param printed what `kubectl version -o json` printed about both
 */
export function kubectlFits(printed: string): boolean {
  const { clientVersion, serverVersion } = JSON.parse(printed) as { clientVersion?: Version; serverVersion?: Version };
  if (clientVersion === undefined || serverVersion === undefined) return false;
  // Some builds write a plus sign behind the minor version.
  const skewMinors = Math.abs(Number.parseInt(clientVersion.minor, 10) - Number.parseInt(serverVersion.minor, 10));
  return clientVersion.major === serverVersion.major && skewMinors <= SKEW_MINORS_MAX;
}

/**
 * The program in HOLDPOINT_TEST_KUBECTL, whatever its version; else the first that fits the server of KUBEBUILDER_ASSETS and the
 * PATH; else one that is built.
 * @param say told what takes long
 */
export async function findKubectl(kubeconfig: string, say: (line: string) => void): Promise<string> {
  const handed = process.env["HOLDPOINT_TEST_KUBECTL"];
  if (handed) return handed;
  const assets = process.env["KUBEBUILDER_ASSETS"];
  for (const candidate of [...(assets ? [join(assets, "kubectl")] : []), "kubectl"]) {
    try {
      const args = ["version", "-o", "json", "--kubeconfig", kubeconfig];
      const { stdout } = await run(candidate, args, { timeout: VERSION_TIMEOUT_MS });
      if (kubectlFits(stdout)) return candidate;
    } catch {
      // Not there, or it does not get on with this server; the next one is tried.
    }
  }
  return await builtTool("kubectl", say);
}
