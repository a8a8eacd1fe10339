import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stringify } from "yaml";

const PROGRAM = join(import.meta.dirname, "../../src/bin/holdpoint.ts");
const WAIT_MS = 60_000;

/** A `holdpoint dev` under test: what it writes, its signals, its end. */
export class DevProcess {
  readonly #child: ChildProcess;
  readonly #ended: Promise<number>;
  stdout = "";
  stderr = "";
  #code: number | undefined;

  /** @param terminal in a pseudo-terminal, whose output all arrives as `stdout` */
  constructor(args: readonly string[], terminal = false) {
    const command = [process.execPath, PROGRAM, "dev", ...args];
    const [program = "", ...rest] = terminal ? ["script", "-qec", command.map(quoted).join(" "), "/dev/null"] : command;
    this.#child = spawn(program, rest, {
      stdio: [terminal ? "pipe" : "ignore", "pipe", "pipe"],
      env: { ...process.env, NO_COLOR: "1" },
    });
    this.#child.stdout?.on("data", (chunk: Buffer) => {
      this.stdout += chunk.toString();
    });
    this.#child.stderr?.on("data", (chunk: Buffer) => {
      this.stderr += chunk.toString();
    });
    this.#ended = new Promise((resolve) => {
      this.#child.once("close", (code, signal) => {
        this.#code = code ?? -1;
        resolve(signal === null ? (code ?? -1) : -1);
      });
    });
  }

  /** Its exit code; -1 when a signal ended it. @throws Error with all it wrote, past the deadline */
  async ended(): Promise<number> {
    const timer = setTimeout(() => this.#child.kill("SIGKILL"), WAIT_MS);
    const code = await this.#ended;
    clearTimeout(timer);
    return code;
  }

  /** Waits until a stream holds the text. @throws Error with all it wrote, past the deadline or once it has ended */
  async says(text: string, stream: "stdout" | "stderr" = "stderr"): Promise<void> {
    const deadlineMs = performance.now() + WAIT_MS;
    while (!this[stream].includes(text)) {
      if (this.#code !== undefined || performance.now() > deadlineMs)
        throw new Error(`it never said "${text}" (exit code ${this.#code}):\n${this.stderr}\n${this.stdout}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  /** Types into the terminal. */
  type(text: string): void {
    this.#child.stdin?.write(text);
  }

  async kill(signal: NodeJS.Signals): Promise<number> {
    this.#child.kill(signal);
    return await this.ended();
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** A folder with the manifests and the state of one story. */
export class DevFolder {
  readonly path: string;
  readonly #processes: DevProcess[] = [];

  private constructor(path: string) {
    this.path = path;
  }

  static async make(): Promise<DevFolder> {
    return new DevFolder(await mkdtemp(join(tmpdir(), "holdpoint-dev-")));
  }

  async write(name: string, ...objects: object[]): Promise<void> {
    await writeFile(join(this.path, name), objects.map((object) => stringify(object)).join("---\n"));
  }

  /** Starts the command on `toolset.yaml` and `run.yaml` of the folder. */
  start(...flags: string[]): DevProcess {
    return this.#keep(new DevProcess([...this.files(), ...flags]));
  }

  startInTerminal(...flags: string[]): DevProcess {
    return this.#keep(new DevProcess([...this.files(), ...flags], true));
  }

  /** Runs the command to its end. */
  async run(...flags: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
    const process = this.start(...flags);
    const code = await process.ended();
    return { code, stdout: process.stdout, stderr: process.stderr };
  }

  files(): string[] {
    return [join(this.path, "toolset.yaml"), join(this.path, "run.yaml")];
  }

  async remove(): Promise<void> {
    await Promise.all(this.#processes.map((process) => process.kill("SIGKILL")));
    await rm(this.path, { recursive: true, force: true });
  }

  #keep(process: DevProcess): DevProcess {
    this.#processes.push(process);
    return process;
  }
}
