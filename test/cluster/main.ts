import { execFile, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import {
  closeSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join, resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import pc from "picocolors";
import { until } from "../servers/watched-server.ts";
import { type Cluster, startCluster } from "./cluster.ts";
import { withFileLock } from "./file-lock.ts";
import { isHolder } from "./holder.ts";

/** The commands behind `make cluster` and `make cluster-down`. */
const run = promisify(execFile);
const root = resolve(import.meta.dirname, "../..");
/** Another one lets tests leave a developer's cluster alone. */
const folder = resolve(process.env["HOLDPOINT_CLUSTER_FOLDER"] || join(root, ".cluster"));
const stateFile = join(folder, "state.json");
const logFile = join(folder, "log");
const kubeconfigFile = join(folder, "kubeconfig");
/** All programs built from source with cold caches on a small machine, twice over. */
const START_TIMEOUT_MS = 30 * 60_000;
const STOP_TIMEOUT_MS = 60_000;
const LOCK_TIMEOUT_MS = 10_000;
const POLL_MS = 200;
const KUBECTL_TIMEOUT_MS = 90_000;
const LOG_TAIL_CHARACTERS = 2_000;

/** What is known about the process that holds the cluster. */
interface ClusterState {
  readonly pid: number;
  /** Stands in that process's arguments: after a restart of the machine its pid may be anybody's. */
  readonly token: string;
  /** Once it is there. */
  readonly cluster?: Pick<Cluster, "provider" | "kubeconfig" | "kubectl">;
}

const print = (line: string) => void process.stdout.write(`${line}\n`);
const complain = (line: string) => void process.stderr.write(`${line}\n`);

function readState(): ClusterState | undefined {
  return existsSync(stateFile) ? (JSON.parse(readFileSync(stateFile, "utf8")) as ClusterState) : undefined;
}

/** Renamed when it is whole: whoever polls it never reads half of it. */
function writeState(state: ClusterState): void {
  const temporary = `${stateFile}.${process.pid}`;
  writeFileSync(temporary, JSON.stringify(state));
  renameSync(temporary, stateFile);
}

async function isHeld(state: ClusterState | undefined): Promise<boolean> {
  return state !== undefined && (await isHolder(state.pid, state.token));
}

/** Holds the cluster in a process of its own, until it is told to end or its state file is gone. */
async function hold(token = ""): Promise<void> {
  const ending = new AbortController();
  const stopAtOnce = () => process.exit(1);
  // Until there is a cluster an exit is enough: the watchdogs end what has been started.
  process.on("SIGTERM", stopAtOnce);
  const name = `holdpoint-${token.slice(0, 8)}`;
  const cluster = await startCluster({ name, controllerManager: true, say: complain });
  process.on("SIGTERM", () => ending.abort()).off("SIGTERM", stopAtOnce);
  const { provider, kubectl } = cluster;
  if (provider !== "handed") copyFileSync(cluster.kubeconfig, kubeconfigFile);
  const kubeconfig = provider === "handed" ? resolve(cluster.kubeconfig) : kubeconfigFile;
  writeState({ pid: process.pid, token, cluster: { provider, kubeconfig, kubectl } });
  while (!ending.signal.aborted && readState()?.token === token) await delay(POLL_MS);
  await cluster.stop();
  rmSync(stateFile, { force: true });
  if (provider !== "handed") rmSync(kubeconfigFile, { force: true });
}

/** The process that holds the cluster: the one that runs already, or a new one. */
async function holder(): Promise<ClusterState> {
  mkdirSync(folder, { recursive: true });
  return await withFileLock(join(folder, "lock"), LOCK_TIMEOUT_MS, async () => {
    const known = readState();
    if (known !== undefined && (await isHeld(known))) return known;
    print("starting a Kubernetes API …");
    const token = randomUUID();
    const log = openSync(logFile, "w");
    const child = spawn(process.execPath, [import.meta.filename, "hold", token], {
      detached: true,
      stdio: ["ignore", log, log],
    });
    closeSync(log);
    child.unref();
    if (child.pid === undefined) throw new Error(`${process.execPath} cannot be started`);
    const state = { pid: child.pid, token };
    writeState(state);
    return state;
  });
}

/** Waits for the holder's cluster, and shows what the holder says meanwhile. */
async function clusterOf(state: ClusterState): Promise<NonNullable<ClusterState["cluster"]>> {
  const deadlineMs = performance.now() + START_TIMEOUT_MS;
  let shownCharacters = 0;
  while (performance.now() < deadlineMs) {
    const current = readState();
    if (current?.token === state.token && current.cluster !== undefined) return current.cluster;
    const log = readFileSync(logFile, "utf8");
    if (!(await isHeld(state))) throw new Error(`it did not start:\n${log.slice(-LOG_TAIL_CHARACTERS)}`);
    process.stdout.write(log.slice(shownCharacters));
    shownCharacters = log.length;
    await delay(POLL_MS);
  }
  throw new Error(
    `it did not start within ${START_TIMEOUT_MS} ms; its log is ${logFile}. \`make cluster-down\` ends it`,
  );
}

async function up(): Promise<void> {
  const { provider, kubeconfig, kubectl } = await clusterOf(await holder());
  const onCluster = (...args: readonly string[]) =>
    run(kubectl, ["--kubeconfig", kubeconfig, ...args], { timeout: KUBECTL_TIMEOUT_MS });
  const crds = join(root, "crds");
  const policies = join(root, "charts/holdpoint/templates");
  await onCluster("apply", "--server-side", "--force-conflicts", "-f", crds);
  await onCluster("wait", "--for=condition=Established", "--timeout=60s", "-f", crds);
  await onCluster("apply", "--server-side", "--force-conflicts", "-f", policies);
  print(`${pc.green("ready")}: a Kubernetes API (${provider}) with Holdpoint's kinds and admission policies`);
  print("next:");
  print(`  export KUBECONFIG=${kubeconfig}`);
  print(`  ${kubectl} get toolsets,runs -A`);
  print("  make cluster-down   # stops it");
}

async function down(): Promise<void> {
  const state = readState();
  if (state === undefined || !(await isHeld(state))) {
    rmSync(stateFile, { force: true });
    return print("nothing to stop: make cluster did not start anything that still runs");
  }
  process.kill(state.pid, "SIGTERM");
  await until(`process ${state.pid} ends`, STOP_TIMEOUT_MS, async () => !(await isHeld(state)));
  rmSync(stateFile, { force: true });
  if (state.cluster?.provider === "handed") return print("your cluster goes on running; make cluster only used it");
  print(`${pc.green("stopped")} the Kubernetes API that make cluster started (process ${state.pid})`);
}

const commands: Readonly<Record<string, (token?: string) => Promise<void>>> = { up, down, hold };
const command = commands[process.argv[2] ?? ""];
if (!command) {
  complain("usage: main.ts up | down");
  process.exitCode = 2;
} else {
  command(process.argv[3]).catch((error: unknown) => {
    complain(`${pc.red("failed")}: ${(error as Error).message}`);
    process.exitCode = 1;
  });
}
