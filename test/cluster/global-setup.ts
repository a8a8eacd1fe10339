import { startCluster } from "./cluster.ts";

/** One Kubernetes API for all test files of the project; each makes namespaces of its own. */
export default async function setup(): Promise<() => Promise<void>> {
  const cluster = await startCluster({ say: (line) => process.stderr.write(`${line}\n`) });
  process.env["HOLDPOINT_TEST_KUBECONFIG"] = cluster.kubeconfig;
  process.env["HOLDPOINT_TEST_KUBECTL"] = cluster.kubectl;
  return () => cluster.stop();
}
