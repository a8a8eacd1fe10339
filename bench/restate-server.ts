import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { freePorts } from "../test/servers/watched-server.ts";
import { type Contender, startContender } from "./contender-process.ts";
import { cpuSeconds } from "./cpu-time.ts";

const START_TIMEOUT_MS = 60_000;

/** Restate: its server, from its package, and a service in a process of its own. Both count. */
export async function startRestate(serverUrl: string): Promise<Contender> {
  const [ingress = 0, admin = 0, node = 0] = await freePorts(3);
  const folder = mkdtempSync(join(tmpdir(), "holdpoint-bench-restate-"));
  const binary = createRequire(import.meta.url).resolve(
    `@restatedev/restate-server-${process.platform}-${process.arch}/bin/restate-server`,
  );
  const server = spawn(binary, ["--base-dir", folder, "--node-name", "bench"], {
    env: {
      RESTATE_INGRESS__BIND_ADDRESS: `127.0.0.1:${ingress}`,
      RESTATE_ADMIN__BIND_ADDRESS: `127.0.0.1:${admin}`,
      RESTATE_BIND_ADDRESS: `127.0.0.1:${node}`,
      RESTATE_ADVERTISED_ADDRESS: `http://127.0.0.1:${node}`,
      RESTATE_LOG_FILTER: "warn",
    },
    stdio: "ignore",
  });
  try {
    const adminUrl = `http://127.0.0.1:${admin}`;
    await answers(server, `${adminUrl}/health`);
    const service = await startContender("restate", new URL("contenders/restate.ts", import.meta.url).pathname, {
      BENCH_SERVER_URL: serverUrl,
      BENCH_RESTATE_INGRESS_URL: `http://127.0.0.1:${ingress}`,
      BENCH_RESTATE_ADMIN_URL: adminUrl,
    });
    return {
      ...service,
      cpuSeconds: () => service.cpuSeconds() + (server.pid === undefined ? 0 : cpuSeconds(server.pid)),
      close: async () => {
        await service.close();
        await stop(server, folder);
      },
    };
  } catch (error) {
    await stop(server, folder);
    throw error;
  }
}

async function answers(server: ChildProcess, url: string): Promise<void> {
  const deadlineMs = Date.now() + START_TIMEOUT_MS;
  while (Date.now() < deadlineMs && server.exitCode === null) {
    const response = await fetch(url).catch(() => undefined);
    if (response?.ok) return;
    await pause(100);
  }
  throw new Error("the Restate server did not start");
}

async function stop(server: ChildProcess, folder: string): Promise<void> {
  if (server.exitCode === null && server.signalCode === null) {
    const exited = new Promise<void>((resolve) => server.once("exit", () => resolve()));
    server.kill("SIGKILL");
    await exited;
  }
  rmSync(folder, { recursive: true, force: true });
}
