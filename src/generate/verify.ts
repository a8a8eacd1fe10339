import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { writeCrds } from "./crds.ts";

/** Generates everything again, in another folder, and compares: a generated file that was forgotten or edited by hand shows. */
const root = resolve(import.meta.dirname, "../..");
const folder = mkdtempSync(join(tmpdir(), "holdpoint-generated-"));
try {
  await writeCrds(folder);
  const stale = differing(folder, join(root, "crds"));
  if (stale.length > 0) {
    process.stderr.write(`generated files are not current: ${stale.join(", ")}\nrun: make generate\n`);
    process.exitCode = 1;
  } else {
    process.stdout.write("generated files are current\n");
  }
} finally {
  rmSync(folder, { recursive: true });
}

/** Names of files that differ, or that stand on one side only. */
function differing(made: string, committed: string): string[] {
  const names = new Set([...readdirSync(made), ...readdirSync(committed)]);
  return [...names].filter((name) => read(join(made, name)) !== read(join(committed, name)));
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}
