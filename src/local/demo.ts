/**
 * `make demo`: starts the tracker of examples/triage, runs `holdpoint dev` on its manifests, stops the tracker, and passes
 * the exit code on. Arguments are passed on to `holdpoint dev`. Its state is kept, so that the same command goes on.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir } from "node:fs/promises";
import { join, relative } from "node:path";
import { createInterface } from "node:readline";

const ROOT = join(import.meta.dirname, "../..");
const EXAMPLE = relative(process.cwd(), join(ROOT, "examples/triage"));
const STATE = relative(process.cwd(), join(ROOT, ".holdpoint/demo"));
/** The port in examples/triage/toolset.yaml: a run keeps its pin, so it is the same at each start. */
const PORT = "8931";
const READY_TIMEOUT_MS = 20_000;
const STOP_TIMEOUT_MS = 5_000;
const EXIT_USAGE = 2;

/** Ends the tracker with the demo, however that ended: its standard input is this process's to hold. */
const END_WITH_PARENT = "data:text/javascript,process.stdin.on('end',()=>process.exit(1)).resume()";

function say(line: string): void {
  process.stderr.write(`${line}\n`);
}

/** @returns undefined when it did not become ready; it has said why */
async function startTracker(): Promise<ChildProcess | undefined> {
  const server = [join(EXAMPLE, "server.ts"), "--port", PORT, "--state", join(STATE, "tracker.json")];
  const tracker = spawn(process.execPath, ["--import", END_WITH_PARENT, ...server], {
    stdio: ["pipe", "pipe", "inherit"],
    // In a group of its own, so that Ctrl-C reaches holdpoint dev alone, which may still have a call under way.
    detached: true,
  });
  const ready = new Promise<boolean>((resolve) => {
    const lines = createInterface({ input: tracker.stdout });
    lines.once("line", (line) => {
      say(line);
      resolve(true);
    });
    tracker.once("exit", () => resolve(false));
    setTimeout(() => resolve(false), READY_TIMEOUT_MS).unref();
  });
  if (await ready) return tracker;
  await stopTracker(tracker);
  return undefined;
}

async function stopTracker(tracker: ChildProcess): Promise<void> {
  if (tracker.exitCode !== null || tracker.signalCode !== null) return;
  tracker.kill("SIGTERM");
  const kill = setTimeout(() => tracker.kill("SIGKILL"), STOP_TIMEOUT_MS);
  await once(tracker, "exit");
  clearTimeout(kill);
}

async function runDev(args: readonly string[]): Promise<number> {
  const files = [join(EXAMPLE, "toolset.yaml"), join(EXAMPLE, "run.yaml")];
  const command = [join(ROOT, "src/bin/holdpoint.ts"), "dev", ...files, "--state", STATE, ...args];
  say(`$ holdpoint ${command.slice(1).join(" ")}`);
  const dev = spawn(process.execPath, command, { stdio: "inherit" });
  // Ctrl-C reaches the whole group: the child decides what it means, and this process waits for it.
  process.on("SIGINT", () => {});
  process.on("SIGTERM", () => dev.kill("SIGTERM"));
  const [code] = (await once(dev, "exit")) as [number | null];
  return code ?? 1;
}

async function main(): Promise<number> {
  await mkdir(STATE, { recursive: true });
  const tracker = await startTracker();
  if (tracker === undefined) {
    say(`The tracker did not start. Is port ${PORT}, which the example's Toolset names, taken by another program?`);
    return EXIT_USAGE;
  }
  try {
    const code = await runDev(process.argv.slice(2));
    say(`State is kept in ${STATE}: the same command goes on from it; remove the folder to begin anew.`);
    return code;
  } finally {
    await stopTracker(tracker);
  }
}

process.exitCode = await main();
