import { type ChildProcess, spawn } from "node:child_process";
import { createServer } from "node:net";
import { onTestFinished } from "vitest";

/** A free TCP port. Somebody else may take it until it is used, so only for programs that cannot choose one themselves. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.on("error", reject);
    probe.listen(0, "127.0.0.1", () => {
      const address = probe.address();
      probe.close(() => resolve(typeof address === "object" && address ? address.port : 0));
    });
  });
}

/**
 * Starts a Node program for the length of the test and waits, at most 30 s, until it printed what `ready` matches.
 * Returns the match.
 */
export async function startProgram(
  file: string,
  args: readonly string[],
  ready: RegExp,
  env: Readonly<Record<string, string>> = {},
): Promise<RegExpMatchArray> {
  const child = spawn(process.execPath, [file, ...args], {
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  onTestFinished(() => stop(child));
  return new Promise((resolve, reject) => {
    let printed = "";
    const deadline = setTimeout(() => reject(new Error(`${file} was not ready in 30 s:\n${printed}`)), 30_000);
    const onOutput = (chunk: Buffer): void => {
      printed += String(chunk);
      const match = printed.match(ready);
      if (!match) return;
      clearTimeout(deadline);
      resolve(match);
    };
    child.stdout.on("data", onOutput);
    child.stderr.on("data", onOutput);
    child.once("exit", (code) => reject(new Error(`${file} ended with ${code}:\n${printed}`)));
  });
}

function stop(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) return resolve();
    child.once("exit", () => resolve());
    child.kill("SIGKILL");
  });
}
