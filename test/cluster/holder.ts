import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";

const run = promisify(execFile);
const PS_TIMEOUT_MS = 10_000;

/** Whether the process of that id runs and carries the token in its arguments, so that it is the one that was started. */
export async function isHolder(pid: number, token: string): Promise<boolean> {
  return token !== "" && (await argumentsOf(pid)).includes(token);
}

/** From /proc where there is one, since `ps` is missing in small containers; nothing for a process that is not there. */
async function argumentsOf(pid: number): Promise<string> {
  if (process.platform === "linux") return await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");
  const { stdout } = await run("ps", ["-o", "args=", "-p", String(pid)], { timeout: PS_TIMEOUT_MS }).catch(() => ({
    stdout: "",
  }));
  return stdout;
}
