import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import ts from "typescript";

/** The library that a script sees: ECMAScript without what the sandbox does not have. */
const ROOT_LIBRARY = "es2023";
/** Internationalisation is not there; neither is shared memory, nor what shows when the collector runs. */
const LEFT_OUT = /\.intl$|sharedmemory|weakref|decorators/;

const folder = dirname(createRequire(import.meta.url).resolve("typescript/lib/lib.es5.d.ts"));

/**
 * The texts of the standard library files that scripts are checked against, by file name.
 * Namespace `Intl` keeps its types, which other declarations name, and loses its values: using it is an error.
 */
export function scriptLibraryFiles(): ReadonlyMap<string, string> {
  const files = new Map<string, string>();
  const collect = (name: string) => {
    const fileName = `lib.${name}.d.ts`;
    if (files.has(fileName) || LEFT_OUT.test(name)) return;
    const text = readFileSync(join(folder, fileName), "utf8");
    files.set(fileName, withoutIntlValues(fileName, text));
    for (const [, referenced] of text.matchAll(/\/\/\/ <reference lib="([^"]+)" \/>/g)) collect(referenced ?? "");
  };
  collect(ROOT_LIBRARY);
  return files;
}

function withoutIntlValues(fileName: string, text: string): string {
  const source = ts.createSourceFile(fileName, text, ts.ScriptTarget.ESNext);
  const cuts: [start: number, end: number][] = [];
  for (const statement of source.statements) {
    if (!ts.isModuleDeclaration(statement) || statement.name.text !== "Intl") continue;
    if (!statement.body || !ts.isModuleBlock(statement.body)) continue;
    for (const member of statement.body.statements) {
      const isValue = ts.isVariableStatement(member) || ts.isFunctionDeclaration(member);
      if (isValue) cuts.push([member.getStart(source), member.end]);
    }
  }
  let result = text;
  for (const [start, end] of cuts.reverse()) result = result.slice(0, start) + result.slice(end);
  // References are followed above; the compiler must not look for them itself.
  return result.replaceAll(/\/\/\/ <reference lib="[^"]+" \/>/g, "");
}
