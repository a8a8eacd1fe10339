import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { eventually } from "../dispatcher/eventually.ts";
import { withFileLock } from "./file-lock.ts";
import { isHolder } from "./holder.ts";

const folder = mkdtempSync(join(tmpdir(), "holdpoint-lock-"));
afterAll(() => rmSync(folder, { recursive: true }));

test("two that want the lock work one after the other, and nothing is left", async () => {
  const path = join(folder, "lock");
  let working = 0;
  const work = async () => {
    working += 1;
    expect(working).toBe(1);
    await new Promise((resolve) => setImmediate(resolve));
    working -= 1;
    return "done";
  };
  expect(await Promise.all([1, 2, 3].map(() => withFileLock(path, 5_000, work)))).toEqual(["done", "done", "done"]);
  expect(readdirSync(folder)).toEqual([]);
});

test("work that fails releases the lock", async () => {
  const path = join(folder, "failing");
  await expect(withFileLock(path, 1_000, () => Promise.reject(new Error("no")))).rejects.toThrow("no");
  expect(existsSync(path)).toBe(false);
});

test("the lock of a living process is respected, that of a dead one is not", async () => {
  const path = join(folder, "owned");
  writeFileSync(path, String(process.ppid));
  await expect(withFileLock(path, 200, async () => {})).rejects.toThrow(/no other process holds/);
  const { pid } = spawnSync(process.execPath, ["-e", ""]);
  writeFileSync(path, String(pid));
  expect(await withFileLock(path, 1_000, async () => 7)).toBe(7);
});

test("a process is known by its id and its arguments together", async () => {
  const { pid } = spawnSync(process.execPath, ["-e", "", "some-token"]);
  expect(await isHolder(pid, "some-token")).toBe(false);
  expect(await isHolder(process.pid, "some-token")).toBe(false);
  expect(await isHolder(process.pid, "")).toBe(false);
  const living = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)", "some-token"], { stdio: "ignore" });
  try {
    await eventually("its arguments can be read", () => isHolder(living.pid ?? 0, "some-token"));
  } finally {
    living.kill("SIGKILL");
  }
});
