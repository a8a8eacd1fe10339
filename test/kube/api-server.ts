import { type ChildProcess, spawn } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { openSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parse } from "yaml";
import { KubeClient } from "../../src/kube/client.ts";
import { loadKubeConfig } from "../../src/kube/connection.ts";

/** A real API server with its etcd, for one test file, with Holdpoint's kinds. */
export interface ApiServer {
  /** The file of a kubeconfig that may do everything. */
  readonly kubeconfig: string;
  /** Kills the API server and starts it again on the same etcd; does not wait until it answers. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

const READY_TIMEOUT_MS = 60_000;
const POLL_MS = 50;
const TOKEN = "tests";

/** Starts etcd and kube-apiserver from the folder in `KUBEBUILDER_ASSETS`. */
export async function startApiServer(): Promise<ApiServer> {
  const assets = process.env["KUBEBUILDER_ASSETS"];
  if (assets === undefined) throw new Error("KUBEBUILDER_ASSETS must name the folder with etcd and kube-apiserver");
  const folder = await mkdtemp(join(tmpdir(), "holdpoint-apiserver-"));
  const [client, peer, secure] = await freePorts(3);
  await writeCredentials(folder);
  const start = (program: string, args: readonly string[]): ChildProcess => {
    const log = openSync(join(folder, `${program}.log`), "a");
    return spawn(join(assets, program), args, { cwd: folder, stdio: ["ignore", log, log] });
  };
  const etcd = start("etcd", etcdArguments(client, peer));
  const startServer = (): ChildProcess => start("kube-apiserver", serverArguments(client, secure));
  let server = startServer();
  const kubeconfig = join(folder, "kubeconfig");
  await writeFile(kubeconfig, JSON.stringify(kubeconfigOf(secure)));
  const stop = async (): Promise<void> => {
    await Promise.all([kill(server), kill(etcd)]);
    await rm(folder, { recursive: true, force: true });
  };
  try {
    await untilReady(kubeconfig);
    await installCrds(kubeconfig);
  } catch (error) {
    await stop();
    throw error;
  }
  const restart = async (): Promise<void> => {
    await kill(server);
    server = startServer();
  };
  return { kubeconfig, restart, stop };
}

function etcdArguments(client: number | undefined, peer: number | undefined): string[] {
  const [clientUrl, peerUrl] = [`http://127.0.0.1:${client}`, `http://127.0.0.1:${peer}`];
  return [
    ...["--data-dir=etcd", "--unsafe-no-fsync", `--initial-cluster=default=${peerUrl}`],
    ...[`--listen-client-urls=${clientUrl}`, `--advertise-client-urls=${clientUrl}`],
    ...[`--listen-peer-urls=${peerUrl}`, `--initial-advertise-peer-urls=${peerUrl}`],
  ];
}

function serverArguments(etcd: number | undefined, secure: number | undefined): string[] {
  return [
    ...[`--etcd-servers=http://127.0.0.1:${etcd}`, `--secure-port=${secure}`, "--cert-dir=certs"],
    ...["--bind-address=127.0.0.1", "--advertise-address=127.0.0.1", "--endpoint-reconciler-type=none"],
    ...["--authorization-mode=RBAC", "--token-auth-file=tokens.csv", "--service-cluster-ip-range=10.0.0.0/24"],
    ...["--service-account-issuer=https://kubernetes.default.svc", "--service-account-key-file=key.pem"],
    ...["--service-account-signing-key-file=key.pem", "--disable-admission-plugins=ServiceAccount"],
  ];
}

async function writeCredentials(folder: string): Promise<void> {
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  await writeFile(join(folder, "key.pem"), privateKey.export({ type: "pkcs8", format: "pem" }));
  await writeFile(join(folder, "tokens.csv"), `${TOKEN},tests,tests,system:masters\n`);
}

/** The certificate that the API server made for itself is the authority, so that connections are verified. */
function kubeconfigOf(secure: number | undefined): unknown {
  const cluster = { server: `https://127.0.0.1:${secure}`, "certificate-authority": "certs/apiserver.crt" };
  return {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "tests", cluster }],
    users: [{ name: "tests", user: { token: TOKEN } }],
    contexts: [{ name: "tests", context: { cluster: "tests", user: "tests" } }],
    "current-context": "tests",
  };
}

async function untilReady(kubeconfig: string): Promise<void> {
  await until("the API server answers", async () => {
    const client = new KubeClient(loadKubeConfig({ kubeconfig }), { timeoutMs: 2_000 });
    try {
      await client.request({ method: "GET", path: "/api/v1/namespaces/default" });
      return true;
    } finally {
      await client.close();
    }
  });
}

interface Crd {
  readonly metadata: { readonly name: string };
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}

async function installCrds(kubeconfig: string): Promise<void> {
  const client = new KubeClient(loadKubeConfig({ kubeconfig }));
  const folder = join(import.meta.dirname, "../../crds");
  for (const file of await readdir(folder)) {
    const body = parse(await readFile(join(folder, file), "utf8")) as Crd;
    const path = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${body.metadata.name}`;
    const query = { fieldManager: "tests", force: true };
    await client.request({ method: "PATCH", path, query, contentType: "application/apply-patch+yaml", body });
    await until(`${path} is established`, async () => {
      const { status } = (await client.request({ method: "GET", path })) as unknown as Crd;
      return status?.conditions?.some((item) => item.type === "Established" && item.status === "True") ?? false;
    });
  }
  await client.close();
}

async function until(what: string, check: () => Promise<boolean>): Promise<void> {
  const deadlineMs = performance.now() + READY_TIMEOUT_MS;
  let last: unknown;
  while (performance.now() < deadlineMs) {
    try {
      if (await check()) return;
    } catch (error) {
      last = error;
    }
    await sleep(POLL_MS);
  }
  throw new Error(`not true within ${READY_TIMEOUT_MS} ms: ${what}`, { cause: last });
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  child.kill("SIGKILL");
  await exited;
}

async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(
    Array.from({ length: count }, async () => {
      const server = createServer();
      await once(server.listen(0, "127.0.0.1"), "listening");
      return server;
    }),
  );
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map((server) => once(server.close(), "close")));
  return ports;
}
