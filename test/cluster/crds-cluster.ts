import { execFile } from "node:child_process";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { GROUP_VERSION, type Kind, kindNames } from "../../src/api/group.ts";
import { ApiClient } from "./api-client.ts";

const ROOT = join(import.meta.dirname, "../..");
const KUBECTL_TIMEOUT_MS = 60_000;

/** An API server with Holdpoint's CRDs and admission policies, and a namespace of this test file's own. */
export interface ResourceCluster {
  readonly api: ApiClient;
  readonly namespace: string;
  /** The API path of a kind's objects in the namespace. */
  path(kind: Kind): string;
  /** Runs kubectl in the namespace and gives what it printed. Rejects with all it said when it fails. */
  kubectl(...args: readonly string[]): Promise<string>;
  kubectlWithInput(input: string, ...args: readonly string[]): Promise<string>;
  stop(): Promise<void>;
}

/** The cluster that the environment names, and the kubectl to use with it. */
function handedCluster() {
  const kubeconfig = process.env["HOLDPOINT_TEST_KUBECONFIG"];
  if (kubeconfig === undefined) throw new Error("set HOLDPOINT_TEST_KUBECONFIG to a kubeconfig of a cluster for tests");
  return { kubeconfig, kubectl: process.env["HOLDPOINT_TEST_KUBECTL"] ?? "kubectl" };
}

/** Connects to the cluster, installs the CRDs and policies, and makes a namespace. */
export async function startResourceCluster(name: string): Promise<ResourceCluster> {
  const cluster = handedCluster();
  const api = await ApiClient.fromKubeconfig(cluster.kubeconfig);
  const namespace = `${name}-${Date.now().toString(36)}`;
  const kubectlWithInput = (input: string, ...args: readonly string[]) =>
    runKubectl(cluster.kubectl, ["--kubeconfig", cluster.kubeconfig, "--namespace", namespace, ...args], input);
  const kubectl = (...args: readonly string[]) => kubectlWithInput("", ...args);
  await kubectl("create", "namespace", namespace);
  await kubectl("apply", "--server-side", "--force-conflicts", "-f", join(ROOT, "crds"));
  await kubectl("wait", "--for=condition=Established", "--timeout=30s", "-f", join(ROOT, "crds"));
  await kubectl(
    "apply",
    "--server-side",
    "--force-conflicts",
    "-f",
    join(ROOT, "charts/holdpoint/templates/admission.yaml"),
  );
  await allowController(api);
  await admissionInForce(api, namespace);
  return {
    api,
    namespace,
    path: (kind) => `/apis/holdpoint.dev/v1alpha1/namespaces/${namespace}/${kindNames[kind].plural}`,
    kubectl,
    kubectlWithInput,
    stop: () => api.close(),
  };
}

const ADMISSION_TIMEOUT_MS = 30_000;
const ADMISSION_POLL_MS = 100;

/** The API server takes a moment until it obeys new policies: waits until each of them answers. */
async function admissionInForce(api: ApiClient, namespace: string): Promise<void> {
  const runs = `/apis/${GROUP_VERSION}/namespaces/${namespace}/runs`;
  const draft = (name: string) => ({
    apiVersion: GROUP_VERSION,
    kind: "Run",
    metadata: { name },
    spec: { toolset: { name: "probe" }, script: "1", decisions: { "1": { action: "Approve", by: "nobody" } } },
  });
  const deadline = Date.now() + ADMISSION_TIMEOUT_MS;
  for (;;) {
    const { decisions: _, ...spec } = draft("").spec;
    const created = await api.post(`${runs}?dryRun=All`, { ...draft("probe"), spec });
    const refused = await api.post(`${runs}?dryRun=All`, draft("probe"));
    const annotations = created.body.metadata?.["annotations"] as Record<string, string> | undefined;
    if (annotations?.["holdpoint.dev/requester"] !== undefined && refused.code === 422) return;
    if (Date.now() > deadline) throw new Error(`the policies are not obeyed: ${JSON.stringify(refused.body)}`);
    await setTimeout(ADMISSION_POLL_MS);
  }
}

/** Lets the controller's account do all that RBAC can let it do: what the tests are about is admission. */
async function allowController(api: ApiClient): Promise<void> {
  const path = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/holdpoint-controller-in-tests";
  const bound = await api.apply(path, {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRoleBinding",
    metadata: { name: "holdpoint-controller-in-tests" },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cluster-admin" },
    subjects: [{ kind: "ServiceAccount", namespace: "holdpoint-system", name: "holdpoint-controller" }],
  });
  if (bound.code >= 300) throw new Error(`the controller's account cannot be bound: ${bound.body.message}`);
}

function runKubectl(program: string, args: readonly string[], input: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = execFile(program, [...args], { timeout: KUBECTL_TIMEOUT_MS }, (error, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else reject(new Error(`kubectl ${args.join(" ")}: ${stdout}${stderr}`));
    });
    child.stdin?.end(input);
  });
}
