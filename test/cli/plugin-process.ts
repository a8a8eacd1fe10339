import { execFile } from "node:child_process";
import { join } from "node:path";

/** How a process ended, and all it wrote. */
export interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

const ROOT = join(import.meta.dirname, "../..");
const TIMEOUT_MS = 60_000;

/** Runs a program of src/bin to its end, as a user would: a process of its own, without a terminal. */
export function runPlugin(program: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Ended> {
  const options = { timeout: TIMEOUT_MS, env: { ...process.env, ...env } };
  return new Promise((resolve, reject) => {
    execFile(process.execPath, [join(ROOT, "src/bin", `${program}.ts`), ...args], options, (error, stdout, stderr) => {
      if (error === null) resolve({ code: 0, stdout, stderr });
      else if (typeof error.code === "number") resolve({ code: error.code, stdout, stderr });
      else reject(error);
    });
  });
}
