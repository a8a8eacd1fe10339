import { readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import ts from "typescript";
import { expect, test } from "vitest";

/** In this order: a folder imports only from itself and from folders above it. */
const FOLDERS = [
  "base",
  "api",
  "protocol",
  "toolset",
  "declarations",
  "policy",
  "sandbox",
  "journal",
  "objects",
  "kube",
  "typecheck",
  "tools",
  "dispatcher",
  "controller",
  "gateway",
  "sdk",
  "cli",
  "local",
  "bin",
  "generate",
];
/** These never import one another. */
const APART = ["controller", "dispatcher", "gateway", "cli"];
/** These do no I/O: no file system, network, process or timer of their own. */
const PURE = ["api", "protocol", "toolset", "declarations", "policy"];
const IO_MODULES =
  /^(node:(fs|net|http|https|http2|tls|dns|child_process|worker_threads|timers|os|readline|dgram)|undici|pg|@electric-sql|@kubernetes)/;
const NAMES_THAT_SAY_NOTHING = /^(types|utils?|helpers?|common|misc|shared)\./;

const root = resolve(import.meta.dirname, "../..");
const src = join(root, "src");

function sourceFiles(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(".ts"))
    .map((entry) => join(entry.parentPath, entry.name));
}

/** What a file imports, as written. */
function importsOf(file: string): string[] {
  return ts.preProcessFile(readFileSync(file, "utf8"), true, true).importedFiles.map((imported) => imported.fileName);
}

const folderOf = (file: string) => relative(src, file).split("/")[0] ?? "";

const files = sourceFiles(src);

test("every folder of src is one that the architecture names", () => {
  expect(files.length).toBeGreaterThan(50);
  expect(files.map(folderOf).filter((folder) => !FOLDERS.includes(folder))).toEqual([]);
});

test("imports go one way", () => {
  const wrong = files.flatMap((file) =>
    importsOf(file)
      .filter((imported) => imported.startsWith("."))
      .filter((imported) => {
        const from = folderOf(file);
        const to = folderOf(resolve(dirname(file), imported));
        return (
          FOLDERS.indexOf(to) > FOLDERS.indexOf(from) || (from !== to && APART.includes(from) && APART.includes(to))
        );
      })
      .map((imported) => `${relative(src, file)} imports ${imported}`),
  );
  expect(wrong).toEqual([]);
});

test("no files import one another in a circle", () => {
  const edges = new Map(
    files.map((file) => [
      file,
      importsOf(file)
        .filter((imported) => imported.startsWith("."))
        .map((imported) => resolve(dirname(file), imported)),
    ]),
  );
  const done = new Set<string>();
  const circles: string[] = [];
  const visit = (file: string, path: readonly string[]) => {
    if (path.includes(file))
      circles.push([...path.slice(path.indexOf(file)), file].map((each) => relative(src, each)).join(" > "));
    if (done.has(file) || path.includes(file)) return;
    for (const next of edges.get(file) ?? []) visit(next, [...path, file]);
    done.add(file);
  };
  for (const file of files) visit(file, []);
  expect(circles).toEqual([]);
});

test("the check sees an import that goes the wrong way", () => {
  const parsed = ts.preProcessFile('import { a } from "../cli/a.ts"; export * from "../x.ts";', true, true);
  expect(parsed.importedFiles.map((imported) => imported.fileName)).toEqual(["../cli/a.ts", "../x.ts"]);
  expect(FOLDERS.indexOf("cli")).toBeGreaterThan(FOLDERS.indexOf("base"));
});

test("pure folders do no I/O", () => {
  const wrong = files
    .filter((file) => PURE.includes(folderOf(file)) && !file.endsWith(".test.ts"))
    .flatMap((file) =>
      importsOf(file)
        .filter((imported) => IO_MODULES.test(imported))
        .map((imported) => `${relative(src, file)} imports ${imported}`),
    );
  expect(wrong).toEqual([]);
});

test("no file has a name that says nothing", () => {
  const all = [...files, ...sourceFiles(join(root, "test")), ...sourceFiles(join(root, "examples"))];
  expect(all.filter((file) => NAMES_THAT_SAY_NOTHING.test(basename(file)))).toEqual([]);
});

test("no leftover markers and no switched-off checks in the sources", () => {
  const marker = new RegExp(["TO", "DO|FIX", "ME|XX", "X|@ts-", "ignore|@ts-", "nocheck|biome-", "ignore"].join(""));
  const wrong = files.filter((file) => marker.test(readFileSync(file, "utf8")));
  expect(wrong.map((file) => relative(root, file))).toEqual([]);
});
