import { generateKeyPairSync } from "node:crypto";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { KubeClient } from "../../src/kube/client.ts";
import { loadKubeConfig } from "../../src/kube/connection.ts";
import { freePorts, until, type WatchedServer, watchServer } from "../servers/watched-server.ts";

/** etcd and kube-apiserver of the tests' own. */
export interface ControlPlane {
  /** The file of a kubeconfig that may do everything. */
  readonly kubeconfig: string;
  /** Kills the API server and starts it again on the same etcd; does not wait until it answers. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

export interface ControlPlanePrograms {
  readonly etcd: string;
  readonly apiServer: string;
}

const READY_TIMEOUT_MS = 60_000;
const START_TRIES = 3;
const TOKEN = "tests";

/** Starts both on free ports; they end with this process, however that ends. */
export async function startControlPlane(programs: ControlPlanePrograms): Promise<ControlPlane> {
  for (let attempt = 1; ; attempt += 1) {
    const folder = await mkdtemp(join(tmpdir(), "holdpoint-apiserver-"));
    try {
      return await startIn(folder, programs);
    } catch (error) {
      const log = await readFile(join(folder, "apiserver.log"), "utf8").catch(() => "");
      await rm(folder, { recursive: true, force: true });
      // A port that was free a moment ago may be somebody else's now.
      if (attempt < START_TRIES && log.includes("address already in use")) continue;
      throw new Error(`the API server did not start; the end of its log:\n${log.slice(-2_000)}`, { cause: error });
    }
  }
}

async function startIn(folder: string, programs: ControlPlanePrograms): Promise<ControlPlane> {
  const [client = 0, peer = 0, secure = 0] = await freePorts(3);
  await writeCredentials(folder);
  const start = (program: string, args: readonly string[], log: string): WatchedServer =>
    watchServer({ command: [program, ...args], cwd: folder, log: join(folder, log) });
  const etcd = start(programs.etcd, etcdArguments(client, peer), "etcd.log");
  const startServer = () => start(programs.apiServer, serverArguments(client, secure), "apiserver.log");
  let server = startServer();
  const kubeconfig = join(folder, "kubeconfig");
  const stop = async () => {
    await Promise.all([server.stop("SIGKILL"), etcd.stop("SIGKILL")]);
    await rm(folder, { recursive: true, force: true });
  };
  try {
    await until("the API server has its certificate", READY_TIMEOUT_MS, async () => {
      if (!server.running || !etcd.running) throw new Error("etcd or the API server ended");
      await writeKubeconfig(folder, kubeconfig, secure);
      return true;
    });
    await untilReady(kubeconfig, () => server.running);
  } catch (error) {
    await Promise.all([server.stop("SIGKILL"), etcd.stop("SIGKILL")]);
    throw error;
  }
  return {
    kubeconfig,
    stop,
    restart: async () => {
      await server.stop("SIGKILL");
      server = startServer();
    },
  };
}

function etcdArguments(client: number, peer: number): string[] {
  const [clientUrl, peerUrl] = [`http://127.0.0.1:${client}`, `http://127.0.0.1:${peer}`];
  return [
    ...["--data-dir=etcd", "--unsafe-no-fsync", `--initial-cluster=default=${peerUrl}`],
    ...[`--listen-client-urls=${clientUrl}`, `--advertise-client-urls=${clientUrl}`],
    ...[`--listen-peer-urls=${peerUrl}`, `--initial-advertise-peer-urls=${peerUrl}`],
  ];
}

function serverArguments(etcd: number, secure: number): string[] {
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
  await mkdir(join(folder, "certs"), { recursive: true });
}

/** The certificate that the API server made for itself is the authority, so that connections are verified. */
async function writeKubeconfig(folder: string, kubeconfig: string, secure: number): Promise<void> {
  const certificate = await readFile(join(folder, "certs/apiserver.crt"));
  const cluster = {
    server: `https://127.0.0.1:${secure}`,
    "certificate-authority-data": certificate.toString("base64"),
  };
  const content = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "holdpoint", cluster }],
    users: [{ name: "holdpoint", user: { token: TOKEN } }],
    contexts: [{ name: "holdpoint", context: { cluster: "holdpoint", user: "holdpoint" } }],
    "current-context": "holdpoint",
  };
  await writeFile(kubeconfig, JSON.stringify(content), { mode: 0o600 });
}

/** Resolves once the API of that kubeconfig answers. @param isAlive false ends the wait at once */
export async function untilReady(kubeconfig: string, isAlive: () => boolean): Promise<void> {
  let dead = false;
  await until("the API server answers", READY_TIMEOUT_MS, async () => {
    if (!isAlive()) {
      dead = true;
      return true;
    }
    const client = new KubeClient(loadKubeConfig({ kubeconfig }), { timeoutMs: 2_000 });
    try {
      await client.request({ method: "GET", path: "/api/v1/namespaces/default" });
      return true;
    } finally {
      await client.close();
    }
  });
  if (dead) throw new Error("the API server ended");
}
