import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { backoffDelayMs } from "../base/backoff.ts";
import type { Logger } from "../base/log.ts";
import type { Launcher, LaunchTarget } from "./launcher.ts";

export interface ProcessLauncherSpec {
  /** Where the dispatchers of that Toolset reach the journal, and as whom. Rejects while that is not known: it is asked again. */
  readonly databaseUrl: (toolsetId: number) => Promise<string>;
  /** Unique for this controller's machine and instance: places are made from it. */
  readonly place: string;
  readonly leaseMs: number;
  readonly log: Logger;
  readonly logLevel: string;
  /** How long a process that was told to stop may take. */
  readonly graceMs: number;
}

const PROGRAM = join(import.meta.dirname, "../bin/dispatcher.ts");
const RESTART = { firstMs: 200, maxMs: 30_000, factor: 2 };
/** A process that lived this long has not failed to start. */
const HEALTHY_MS = 30_000;

interface Slot {
  child: ChildProcess | undefined;
  failures: number;
  timer: NodeJS.Timeout | undefined;
  stopping: Promise<void> | undefined;
}

/**
 * A launcher whose dispatchers are child processes, restarted with growing pauses when they end by themselves. They hold this
 * process's pipe, so that they end with it, however it ends.
 */
export class ProcessLauncher implements Launcher {
  readonly #spec: ProcessLauncherSpec;
  readonly #slots = new Map<number, Slot[]>();

  constructor(spec: ProcessLauncherSpec) {
    this.#spec = spec;
  }

  async scale(toolset: LaunchTarget, replicas: number): Promise<void> {
    const slots = this.#slots.get(toolset.toolsetId) ?? [];
    this.#slots.set(toolset.toolsetId, slots);
    while (slots.length < replicas) {
      const slot: Slot = { child: undefined, failures: 0, timer: undefined, stopping: undefined };
      slots.push(slot);
      void this.#start(toolset, slots.length - 1, slot);
    }
    // Those taken away drain by themselves; nobody waits for them here.
    for (const slot of slots.splice(replicas)) void this.#stop(slot);
  }

  running(toolsetId: number): number {
    return this.#slots.get(toolsetId)?.length ?? 0;
  }

  async close(): Promise<void> {
    const slots = [...this.#slots.values()].flat();
    this.#slots.clear();
    await Promise.all(slots.map((slot) => this.#stop(slot)));
  }

  async #start(toolset: LaunchTarget, index: number, slot: Slot): Promise<void> {
    const { log } = this.#spec;
    const startedAtMs = performance.now();
    const again = (about: object, message: string) =>
      this.#startAgain(toolset, index, slot, startedAtMs, about, message);
    let databaseUrl: string;
    try {
      databaseUrl = await this.#spec.databaseUrl(toolset.toolsetId);
    } catch (error) {
      return again({ err: error }, "a dispatcher is not started yet: its way to the journal is not known");
    }
    if (slot.stopping) return;
    const env = this.#environment(toolset.toolsetId, index, databaseUrl);
    const child = spawn(process.execPath, [PROGRAM], { env, stdio: ["pipe", "ignore", "inherit"] });
    child.stdin.on("error", () => {});
    slot.child = child;
    log.info({ toolset: toolset.name, namespace: toolset.namespace, pid: child.pid }, "dispatcher started");
    child.once("error", (error) =>
      log.error({ err: error, toolset: toolset.name }, "the dispatcher could not be started"),
    );
    child.once("exit", (code, signal) => {
      slot.child = undefined;
      again({ code, signal }, "a dispatcher ended by itself; it is started again");
    });
  }

  #environment(toolsetId: number, index: number, databaseUrl: string): Record<string, string> {
    const { place, leaseMs, graceMs, logLevel } = this.#spec;
    return {
      PATH: process.env["PATH"] ?? "",
      HOLDPOINT_DATABASE_URL: databaseUrl,
      HOLDPOINT_TOOLSET_ID: String(toolsetId),
      // The same place after a restart: the successor knows that its predecessor is dead, and takes its runs at once.
      HOLDPOINT_PLACE: `${place}/${toolsetId}/${index}`,
      HOLDPOINT_LEASE: `${leaseMs}ms`,
      HOLDPOINT_GRACE: `${graceMs}ms`,
      HOLDPOINT_LOG_LEVEL: logLevel,
      HOLDPOINT_EXIT_WITH_PARENT: "1",
    };
  }

  #startAgain(
    toolset: LaunchTarget,
    index: number,
    slot: Slot,
    startedAtMs: number,
    about: object,
    message: string,
  ): void {
    if (slot.stopping) return;
    slot.failures = performance.now() - startedAtMs > HEALTHY_MS ? 1 : slot.failures + 1;
    const pauseMs = backoffDelayMs(RESTART, slot.failures, Math.random());
    this.#spec.log.warn({ toolset: toolset.name, namespace: toolset.namespace, ...about, pauseMs }, message);
    slot.timer = setTimeout(() => void this.#start(toolset, index, slot), pauseMs);
  }

  #stop(slot: Slot): Promise<void> {
    clearTimeout(slot.timer);
    const { child } = slot;
    slot.stopping ??= new Promise((resolve) => {
      if (!child || child.exitCode !== null || child.signalCode !== null) return resolve();
      const killTimer = setTimeout(() => child.kill("SIGKILL"), this.#spec.graceMs + 5_000);
      child.once("exit", () => {
        clearTimeout(killTimer);
        resolve();
      });
      child.kill("SIGTERM");
    });
    return slot.stopping;
  }
}
