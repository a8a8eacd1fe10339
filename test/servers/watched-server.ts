import { spawn } from "node:child_process";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

export interface ServerCommand {
  readonly command: readonly string[];
  /** Working folder. */
  readonly cwd: string;
  readonly uid?: number;
  readonly gid?: number;
  /** A file for what it prints; nothing is kept without one. */
  readonly log?: string;
}

/** A server under a watchdog: it ends with this process, however that ends. */
export interface WatchedServer {
  readonly running: boolean;
  /** Ends it by a signal and waits. */
  stop(signal: NodeJS.Signals): Promise<void>;
}

export function watchServer(spec: ServerCommand): WatchedServer {
  const watchdog = spawn(process.execPath, [join(import.meta.dirname, "watchdog.ts"), JSON.stringify(spec)], {
    stdio: ["pipe", "ignore", "ignore"],
  });
  watchdog.stdin.on("error", () => {});
  const isRunning = () => watchdog.exitCode === null && watchdog.signalCode === null;
  return {
    get running() {
      return isRunning();
    },
    stop: async (signal) => {
      if (!isRunning()) return;
      const exited = once(watchdog, "exit");
      watchdog.stdin.end(signal);
      await exited;
    },
  };
}

/** Ports that were free a moment ago, all different. Whoever takes one must be ready to find it taken. */
export async function freePorts(count: number): Promise<number[]> {
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

/** Looks until it holds. @throws Error naming what was waited for, with the last failure as its cause */
export async function until(what: string, timeoutMs: number, check: () => Promise<boolean>): Promise<void> {
  const deadlineMs = performance.now() + timeoutMs;
  let failure: unknown;
  while (performance.now() < deadlineMs) {
    try {
      if (await check()) return;
    } catch (error) {
      failure = error;
    }
    await delay(50);
  }
  throw new Error(`not within ${timeoutMs} ms: ${what}`, { cause: failure });
}
