import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { expect, onTestFinished, test } from "vitest";

const root = resolve(import.meta.dirname, "../..");
const TIMEOUT_MS = 300_000;
/** A fault every quarter of a second, for a minute and a half at most. */
const SHORT = ["--seed", "11", "--faults", "1000", "--pace", "250", "--duration", "90", "--stop-at-first"];

/** A copy of the code with a bug planted into it. */
function plant(name: string): string {
  const folder = mkdtempSync(join(tmpdir(), "holdpoint-planted-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  for (const item of [
    "src",
    "test/chaos",
    "test/dispatcher",
    "test/mcp",
    "test/postgres",
    "test/servers",
    "package.json",
  ])
    cpSync(join(root, item), join(folder, item), { recursive: true });
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  // One line of context is enough: a patch has to outlive changes around it.
  execFileSync("git", ["apply", "-C1", join(root, "test/chaos/planted", `${name}.patch`)], { cwd: folder });
  return folder;
}

/** Runs the harness there. */
async function chaosIn(folder: string): Promise<{ code: number | null; output: string }> {
  const child = spawn(process.execPath, [join(folder, "test/chaos/main.ts"), ...SHORT], {
    cwd: folder,
    env: { ...process.env, NODE_OPTIONS: "" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (output += chunk));
  const [code] = (await once(child, "close")) as [number | null];
  return { code, output };
}

test.skipIf(process.env["HOLDPOINT_TEST_DATABASE_URL"]).each([
  ["sends-before-its-intent", /VIOLATION an effect before its intent/],
  ["writes-past-the-fence", /VIOLATION written by one who does not own it/],
  ["releases-though-woken", /VIOLATION a decision was lost/],
])(
  "the chaos harness catches a planted bug: %s",
  async (name, violation) => {
    const { code, output } = await chaosIn(plant(name));
    expect(output).toMatch(violation);
    expect(code).toBe(1);
  },
  TIMEOUT_MS,
);
