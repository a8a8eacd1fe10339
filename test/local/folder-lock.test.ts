import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { lockFolder } from "../../src/local/folder-lock.ts";

const LOCK = join(import.meta.dirname, "../../src/local/folder-lock.ts");
const HOLD = `
const { lockFolder } = await import(${JSON.stringify(LOCK)});
await lockFolder(process.argv[1]).then(() => process.stdout.write("held"), (error) => process.stdout.write(error.code));
setInterval(() => {}, 1000);`;

let folder: string;
const children: ChildProcess[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "holdpoint-lock-"));
});
afterEach(() => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
});
afterAll(() => rm(folder, { recursive: true }));

/** A process that takes the folder and then does nothing. Resolves to what it said. */
async function holder(path: string): Promise<{ child: ChildProcess; said: string }> {
  const child = spawn(process.execPath, ["--input-type=module", "-e", HOLD, path], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  children.push(child);
  const [said] = (await once(child.stdout as NodeJS.ReadableStream, "data")) as [Buffer];
  return { child, said: said.toString() };
}

test("[journal: same place] one process holds a folder; another is refused with what to do", async () => {
  const path = join(folder, "one");
  expect((await holder(path)).said).toBe("held");
  await expect(lockFolder(path)).rejects.toMatchObject({ code: "StateFolderInUse" });
});

test("[journal: same place] the place of a killed process is taken at once", async () => {
  const path = join(folder, "killed");
  const { child } = await holder(path);
  child.kill("SIGKILL");
  await once(child, "exit");
  const startMs = performance.now();
  const lock = await lockFolder(path);
  expect(performance.now() - startMs).toBeLessThan(1_000);
  await lock.release();
  await (await lockFolder(path)).release();
});

test("a holder that is stopped still holds", async () => {
  const path = join(folder, "stopped");
  const { child } = await holder(path);
  child.kill("SIGSTOP");
  await expect(lockFolder(path)).rejects.toMatchObject({ code: "StateFolderInUse" });
  child.kill("SIGCONT");
});

test("a folder whose path is longer than a socket's may be is held as well, under all its names", async () => {
  const deep = join(folder, "d".repeat(120));
  await mkdir(deep);
  expect((await holder(deep)).said).toBe("held");
  await expect(lockFolder(join(deep, "..", "d".repeat(120)))).rejects.toMatchObject({ code: "StateFolderInUse" });
});

test("of several that find a dead holder at once exactly one takes the place", async () => {
  for (let round = 0; round < 3; round += 1) {
    const path = join(folder, `race-${round}`);
    const { child } = await holder(path);
    child.kill("SIGKILL");
    await once(child, "exit");
    const outcomes = await Promise.all([holder(path), holder(path), holder(path)]);
    expect(outcomes.map(({ said }) => said).sort()).toEqual(["StateFolderInUse", "StateFolderInUse", "held"]);
  }
});
