import { generateKeyPairSync } from "node:crypto";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { KubeClient } from "../../src/kube/client.ts";
import { loadKubeConfig } from "../../src/kube/connection.ts";
import { freePorts, until, type WatchedServer, watchServer } from "../servers/watched-server.ts";

/** etcd and kube-apiserver of the tests' own, and kube-controller-manager where it was asked for. */
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
  /** Collects garbage, empties namespaces that are deleted, makes default service accounts. Without it nothing does. */
  readonly controllerManager?: string;
}

const READY_TIMEOUT_MS = 60_000;
const REQUEST_TIMEOUT_MS = 2_000;
const LOG_TAIL_CHARACTERS = 2_000;
const START_TRIES = 3;
const TOKEN = "tests";

/** Starts them on free ports; they end with this process, however that ends. */
export async function startControlPlane(programs: ControlPlanePrograms): Promise<ControlPlane> {
  for (let attempt = 1; ; attempt += 1) {
    const folder = await mkdtemp(join(tmpdir(), "holdpoint-apiserver-"));
    try {
      return await startIn(folder, programs);
    } catch (error) {
      const logs = await readLogs(folder);
      await rm(folder, { recursive: true, force: true });
      // A port that was free a moment ago may be somebody else's now.
      if (attempt < START_TRIES && logs.some(({ text }) => text.includes("address already in use"))) continue;
      const ends = logs.map(({ name, text }) => `the end of ${name}:\n${text.slice(-LOG_TAIL_CHARACTERS)}`);
      throw new Error(`the API server did not start: ${causeOf(error)}\n${ends.join("\n")}`, { cause: error });
    }
  }
}

function causeOf(error: unknown): string {
  const { message, cause } = error as Error;
  return cause === undefined ? message : `${message}: ${(cause as Error).message}`;
}

async function readLogs(folder: string): Promise<{ name: string; text: string }[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith(".log"));
  return await Promise.all(
    names.map(async (name) => ({ name, text: await readFile(join(folder, name), "utf8").catch(() => "") })),
  );
}

async function startIn(folder: string, programs: ControlPlanePrograms): Promise<ControlPlane> {
  const [client = 0, peer = 0, secure = 0] = await freePorts(3);
  await writeCredentials(folder);
  const servers = new Map<string, WatchedServer>();
  const start = (name: string, program: string, args: readonly string[]) =>
    void servers.set(name, watchServer({ command: [program, ...args], cwd: folder, log: join(folder, `${name}.log`) }));
  const startServer = () =>
    start("apiserver", programs.apiServer, serverArguments(client, secure, programs.controllerManager !== undefined));
  const kubeconfig = join(folder, "kubeconfig");
  const dead = () => [...servers].find(([, server]) => !server.running)?.[0];
  const stopAll = async () => void (await Promise.all([...servers.values()].map((server) => server.stop("SIGKILL"))));
  try {
    start("etcd", programs.etcd, etcdArguments(client, peer));
    startServer();
    await untilCertificate(folder, kubeconfig, secure, dead);
    await untilReady(kubeconfig, dead);
    if (programs.controllerManager !== undefined) {
      start("controller-manager", programs.controllerManager, controllerManagerArguments());
      await untilReady(kubeconfig, dead, "/api/v1/namespaces/default/serviceaccounts/default");
    }
  } catch (error) {
    await stopAll();
    throw error;
  }
  return {
    kubeconfig,
    stop: async () => {
      await stopAll();
      await rm(folder, { recursive: true, force: true });
    },
    restart: async () => {
      await servers.get("apiserver")?.stop("SIGKILL");
      startServer();
    },
  };
}

async function untilCertificate(
  folder: string,
  kubeconfig: string,
  secure: number,
  dead: () => string | undefined,
): Promise<void> {
  await until("the API server has its certificate, or one of the servers ended", READY_TIMEOUT_MS, async () => {
    if (dead() === undefined) await writeKubeconfig(folder, kubeconfig, secure);
    return true;
  });
}

function etcdArguments(client: number, peer: number): string[] {
  const [clientUrl, peerUrl] = [`http://127.0.0.1:${client}`, `http://127.0.0.1:${peer}`];
  return [
    ...["--data-dir=etcd", "--unsafe-no-fsync", `--initial-cluster=default=${peerUrl}`],
    ...[`--listen-client-urls=${clientUrl}`, `--advertise-client-urls=${clientUrl}`],
    ...[`--listen-peer-urls=${peerUrl}`, `--initial-advertise-peer-urls=${peerUrl}`],
  ];
}

function serverArguments(etcd: number, secure: number, hasControllerManager: boolean): string[] {
  return [
    ...[`--etcd-servers=http://127.0.0.1:${etcd}`, `--secure-port=${secure}`, "--cert-dir=certs"],
    ...["--bind-address=127.0.0.1", "--advertise-address=127.0.0.1", "--endpoint-reconciler-type=none"],
    ...["--authorization-mode=RBAC", "--token-auth-file=tokens.csv", "--service-cluster-ip-range=10.0.0.0/24"],
    ...["--service-account-issuer=https://kubernetes.default.svc", "--service-account-key-file=key.pem"],
    ...["--service-account-signing-key-file=key.pem"],
    // Nobody else makes the service accounts that this plugin insists on.
    ...(hasControllerManager ? [] : ["--disable-admission-plugins=ServiceAccount"]),
  ];
}

function controllerManagerArguments(): string[] {
  return [
    ...["--kubeconfig=kubeconfig", "--leader-elect=false", "--secure-port=0"],
    ...["--service-account-private-key-file=key.pem", "--root-ca-file=certs/apiserver.crt"],
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

/**
 * Resolves once the API of that kubeconfig answers.
 * @param dead the name of a server that has ended, which ends the wait at once
 * @param path what has to be there
 */
export async function untilReady(
  kubeconfig: string,
  dead: () => string | undefined,
  path = "/api/v1/namespaces/default",
): Promise<void> {
  await until(`the API server has ${path}, or one of the servers ended`, READY_TIMEOUT_MS, async () => {
    if (dead() !== undefined) return true;
    const client = new KubeClient(loadKubeConfig({ kubeconfig }), { timeoutMs: REQUEST_TIMEOUT_MS });
    try {
      await client.request({ method: "GET", path });
      return true;
    } finally {
      await client.close();
    }
  });
  const name = dead();
  if (name !== undefined) throw new Error(`${name} ended`);
}
