import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { generatedFiles } from "./generate.ts";

/** Makes every generated file again and compares: one that was forgotten, edited by hand or left over shows. */
const root = resolve(import.meta.dirname, "../..");
const files = generatedFiles();
const stale = [...files].filter(([path, content]) => read(join(root, path)) !== content).map(([path]) => path);
const leftOver = readdirSync(join(root, "crds"))
  .map((name) => join("crds", name))
  .filter((path) => !files.has(path));
const wrong = [...stale, ...leftOver];
if (wrong.length > 0) {
  process.stderr.write(`generated files are not current: ${wrong.join(", ")}\nrun: make generate\n`);
  process.exitCode = 1;
} else {
  process.stdout.write(`${files.size} generated files are current\n`);
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}
