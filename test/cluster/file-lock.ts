import { randomUUID } from "node:crypto";
import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { until } from "../servers/watched-server.ts";

/**
 * Does the work while no other process on this machine does work under the same lock. A lock whose owner is dead is taken over.
 * Two that find the same dead owner at the same moment may both go on: the work has to be harmless when it is done twice.
 * @param path the lock's file; its folder must exist
 * @param timeoutMs how long to wait for the lock
 * @throws Error when the lock was not free in time, and whatever the work throws
 */
export async function withFileLock<Result>(
  path: string,
  timeoutMs: number,
  work: () => Promise<Result>,
): Promise<Result> {
  await until(`no other process holds ${path}`, timeoutMs, async () => take(path));
  try {
    return await work();
  } finally {
    rmSync(path, { force: true });
  }
}

/** A link is made only where nothing stands yet, and is whole from the start: nobody reads a lock without its owner. */
function take(path: string): boolean {
  const own = `${path}.${randomUUID()}`;
  writeFileSync(own, String(process.pid));
  try {
    linkSync(own, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    removeIfAbandoned(path, own);
    return false;
  } finally {
    rmSync(own, { force: true });
  }
}

function removeIfAbandoned(path: string, temporary: string): void {
  try {
    if (isAlive(Number(readFileSync(path, "utf8")))) return;
    renameSync(path, temporary);
  } catch (error) {
    // Released, or taken away by another one that waits: the next try sees what stands there now.
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
}

/** Whether a process of that id runs, whoever it belongs to. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
