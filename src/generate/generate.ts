import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { crdFiles } from "./crds.ts";
import { errorDocs } from "./error-docs.ts";

/** Every file that is made from the code: its path in the repository, and what it must hold. */
export function generatedFiles(): ReadonlyMap<string, string> {
  const crds = [...crdFiles()].map(([name, content]) => [join("crds", name), content] as const);
  return new Map([...crds, [join("docs", "errors.md"), errorDocs()]]);
}

/** Writes all of them below a folder. @returns their paths */
export async function writeGenerated(root: string): Promise<string[]> {
  const files = generatedFiles();
  for (const [path, content] of files) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), content);
  }
  return [...files.keys()];
}

if (import.meta.main) {
  const written = await writeGenerated(resolve(import.meta.dirname, "../.."));
  process.stdout.write(`${written.map((path) => `wrote ${path}`).join("\n")}\n`);
}
