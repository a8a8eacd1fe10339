import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { LedgerEntry, ServerCommand, ServerNotice } from "./server-process.ts";

const START_TIMEOUT_MS = 20_000;

/** The MCP server in a process of its own, whose ledger outlives it. */
export class ToolServer {
  readonly url: string;
  /** Faults that no call met before they were dropped. */
  unusedFaults = 0;
  readonly #port: number;
  readonly #ledgerFile: string;
  #child: ChildProcess | undefined;

  constructor(port: number, folder: string) {
    this.#port = port;
    this.#ledgerFile = join(folder, "ledger.jsonl");
    this.url = `http://127.0.0.1:${port}/mcp`;
  }

  async start(): Promise<void> {
    const args = ["--port", String(this.#port), "--ledger", this.#ledgerFile];
    const child = fork(join(import.meta.dirname, "server-process.ts"), args, {
      execArgv: [],
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    });
    this.#child = child;
    const signal = AbortSignal.timeout(START_TIMEOUT_MS);
    await once(child, "message", { signal });
  }

  tell(command: ServerCommand): void {
    if (this.#child?.connected) this.#child.send(command);
  }

  /** Drops the faults that are left, and lets every answer go. */
  async heal(): Promise<void> {
    const child = this.#child;
    if (!child?.connected) return;
    const answer = once(child, "message", { signal: AbortSignal.timeout(START_TIMEOUT_MS) });
    child.send({ kind: "heal" } satisfies ServerCommand);
    const [notice] = (await answer) as [ServerNotice];
    if (notice.kind === "healed") this.unusedFaults += notice.unused;
  }

  async kill(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, "exit");
    child.kill("SIGKILL");
    await exited;
  }

  /** Every call that reached it, over all its lives. */
  entries(): LedgerEntry[] {
    if (!existsSync(this.#ledgerFile)) return [];
    const lines = readFileSync(this.#ledgerFile, "utf8").split("\n");
    return lines.filter((line) => line !== "").map((line) => JSON.parse(line) as LedgerEntry);
  }
}
