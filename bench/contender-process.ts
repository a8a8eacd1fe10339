import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { cpuSeconds } from "./cpu-time.ts";
import type { Measured, Workload } from "./workload.ts";

/** Something that is measured, in processes of its own. */
export interface Contender {
  readonly name: string;
  /** @param onStart called directly before the clock starts, with everything prepared */
  measure(workload: Workload, onStart: () => Promise<void>): Promise<Measured>;
  /** CPU seconds of all its processes until now, Postgres excepted. */
  cpuSeconds(): number;
  close(): Promise<void>;
}

const START_TIMEOUT_MS = 60_000;
const WORKLOAD_TIMEOUT_MS = 300_000;

/** A child that writes a line for each thing it has to say, and ends with its standard input. */
export class LineProcess {
  readonly child: ChildProcess;
  readonly #name: string;
  readonly #lines: string[] = [];
  #wanted: ((line: string) => void) | undefined;
  #fail: ((error: Error) => void) | undefined;
  #errors = "";

  constructor(file: string, env: Readonly<Record<string, string>> = {}) {
    this.#name = file;
    this.child = spawn(process.execPath, [file], { env: { ...process.env, ...env }, stdio: ["pipe", "pipe", "pipe"] });
    if (this.child.stdout) createInterface({ input: this.child.stdout }).on("line", (line) => this.#heard(line));
    this.child.stderr?.on("data", (chunk) => {
      this.#errors = `${this.#errors}${chunk}`.slice(-4_000);
    });
    this.child.once("exit", (code) => this.#fail?.(new Error(`${file} ended with ${code}: ${this.#errors}`)));
  }

  #heard(line: string): void {
    if (this.#wanted) this.#wanted(line);
    else this.#lines.push(line);
  }

  say(line: string): void {
    this.child.stdin?.write(`${line}\n`);
  }

  /** The next line that it writes. */
  async line(timeoutMs: number): Promise<string> {
    const waiting = this.#lines.shift();
    if (waiting !== undefined) return waiting;
    return await new Promise<string>((resolve, reject) => {
      const timer = setTimeout(
        () => reject(new Error(`${this.#name} said nothing for ${timeoutMs} ms: ${this.#errors}`)),
        timeoutMs,
      );
      this.#fail = reject;
      this.#wanted = resolve;
      timer.unref();
    }).finally(() => {
      this.#wanted = undefined;
      this.#fail = undefined;
    });
  }

  async close(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const exited = new Promise<void>((resolve) => this.child.once("exit", () => resolve()));
    this.child.stdin?.end();
    this.child.kill("SIGTERM");
    const killer = setTimeout(() => this.child.kill("SIGKILL"), 5_000);
    await exited;
    clearTimeout(killer);
  }
}

/** Starts a server in a process of its own. */
export async function startServer(file: string): Promise<{ url: string; process: LineProcess }> {
  const process = new LineProcess(file);
  return { url: await process.line(START_TIMEOUT_MS), process };
}

/** Starts a contender that is one program under `contenders/`. */
export async function startContender(
  name: string,
  file: string,
  env: Readonly<Record<string, string>>,
): Promise<Contender> {
  const program = new LineProcess(file, env);
  await nextMessage(program, START_TIMEOUT_MS);
  return {
    name,
    measure: async (workload, onStart) => {
      await onStart();
      program.say(JSON.stringify(workload));
      return (await nextMessage(program, WORKLOAD_TIMEOUT_MS)) as Measured;
    },
    cpuSeconds: () => (program.child.pid === undefined ? 0 : cpuSeconds(program.child.pid)),
    close: () => program.close(),
  };
}

/** Libraries may write lines of their own. */
async function nextMessage(program: LineProcess, timeoutMs: number): Promise<unknown> {
  for (;;) {
    const line = await program.line(timeoutMs);
    if (line.startsWith("{")) return JSON.parse(line);
  }
}
