import { execFile, spawn } from "node:child_process";
import { existsSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import pc from "picocolors";
import { startCluster } from "./cluster.ts";

/** The commands behind `make cluster` and `make cluster-down`. */
const run = promisify(execFile);
const root = resolve(import.meta.dirname, "../..");
const folder = join(root, ".cluster");
const stateFile = join(folder, "state.json");
const logFile = join(folder, "log");
const STOP_TIMEOUT_MS = 60_000;

interface ClusterState {
  readonly pid: number;
  readonly provider: string;
  readonly kubeconfig: string;
  readonly kubectl: string;
}

const say = (line: string) => void process.stderr.write(`${line}\n`);

function readState(): ClusterState | undefined {
  return existsSync(stateFile) ? (JSON.parse(readFileSync(stateFile, "utf8")) as ClusterState) : undefined;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** Holds the cluster in a process of its own, until it is told to end. */
async function hold(): Promise<void> {
  const cluster = await startCluster({ name: "holdpoint", say });
  const { provider, kubeconfig, kubectl } = cluster;
  writeFileSync(stateFile, JSON.stringify({ pid: process.pid, provider, kubeconfig, kubectl }));
  process.on("SIGTERM", () => {
    void cluster.stop().then(() => {
      rmSync(stateFile, { force: true });
      process.exit(0);
    });
  });
  setInterval(() => {}, 60_000);
}

async function start(): Promise<ClusterState> {
  const known = readState();
  if (known && isAlive(known.pid)) return known;
  rmSync(stateFile, { force: true });
  mkdirSync(folder, { recursive: true });
  say("starting a Kubernetes API (the first time it may have to be built, which takes minutes) …");
  const log = openSync(logFile, "a");
  const holder = spawn(process.execPath, [import.meta.filename, "hold"], {
    detached: true,
    stdio: ["ignore", log, log],
  });
  holder.unref();
  for (;;) {
    const state = readState();
    if (state) return state;
    if (holder.exitCode !== null)
      throw new Error(`it did not start; the end of ${logFile}:\n${readFileSync(logFile, "utf8").slice(-2_000)}`);
    await new Promise((done) => setTimeout(done, 200));
  }
}

async function up(): Promise<void> {
  const { provider, kubeconfig, kubectl } = await start();
  const apply = (path: string) =>
    run(kubectl, ["--kubeconfig", kubeconfig, "apply", "--server-side", "--force-conflicts", "-f", join(root, path)]);
  await apply("crds");
  await run(kubectl, [
    "--kubeconfig",
    kubeconfig,
    "wait",
    "--for=condition=Established",
    "--timeout=60s",
    "-f",
    join(root, "crds"),
  ]);
  await apply("charts/holdpoint/templates");
  say(`${pc.green("ready")}: a Kubernetes API (${provider}) with Holdpoint's kinds and admission policies`);
  say("next:");
  say(`  export KUBECONFIG=${kubeconfig}`);
  say(`  ${kubectl} get toolsets,runs -A`);
  say("  make cluster-down   # stops it");
}

async function down(): Promise<void> {
  const state = readState();
  if (!state || !isAlive(state.pid)) {
    rmSync(stateFile, { force: true });
    return say("nothing to stop: make cluster did not start anything that still runs");
  }
  process.kill(state.pid, "SIGTERM");
  const deadlineMs = performance.now() + STOP_TIMEOUT_MS;
  while (isAlive(state.pid)) {
    if (performance.now() > deadlineMs)
      throw new Error(`process ${state.pid} did not stop within ${STOP_TIMEOUT_MS} ms`);
    await new Promise((done) => setTimeout(done, 100));
  }
  say(`${pc.green("stopped")} the Kubernetes API that make cluster started (process ${state.pid})`);
}

const commands: Readonly<Record<string, () => Promise<void>>> = { up, down, hold };
const command = commands[process.argv[2] ?? ""];
if (!command) {
  say("usage: main.ts up | down");
  process.exitCode = 2;
} else {
  command().catch((error: unknown) => {
    say(`${pc.red("failed")}: ${(error as Error).message}`);
    process.exitCode = 1;
  });
}
