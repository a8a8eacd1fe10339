import { readFileSync } from "node:fs";
import path from "node:path";
import ts from "typescript";

/** Root of the library that scripts see. */
const ROOT_LIBRARY = "lib.es2023.d.ts";
/** What the sandbox does not have (semantics 3.3): other threads' memory, weak references, internationalisation. */
const LEFT_OUT = /sharedmemory|weakref|\.intl\b|\.promise\.withresolvers/;

/**
 * The compiler's library files for scripts, by file name, parsed once: ES2023 without DOM, without `Intl` and without the
 * locale parameters that need it, so that their use is a type error and not a surprise at run time (case f05).
 */
export function loadScriptLibrary(target: ts.ScriptTarget): ReadonlyMap<string, ts.SourceFile> {
  const folder = path.dirname(ts.getDefaultLibFilePath({}));
  const files = new Map<string, ts.SourceFile>();
  const pending = [ROOT_LIBRARY];
  for (let name = pending.pop(); name !== undefined; name = pending.pop()) {
    if (files.has(name)) continue;
    const text = readFileSync(path.join(folder, name), "utf8");
    const parsed = ts.createSourceFile(name, text, target, true);
    const references = parsed.libReferenceDirectives.map(({ fileName }) => `lib.${fileName}.d.ts`);
    const kept = withoutLeftOut(withoutIntl(parsed));
    files.set(name, kept === text ? parsed : ts.createSourceFile(name, kept, target, true));
    pending.push(...references.filter((reference) => !LEFT_OUT.test(reference)));
  }
  return files;
}

/** The root file's name, which the compiler asks for as its default library. */
export const scriptLibraryRoot: string = ROOT_LIBRARY;

function withoutLeftOut(text: string): string {
  return text.replace(/^\/\/\/ <reference lib="([^"]+)".*$/gm, (line, name: string) =>
    LEFT_OUT.test(`lib.${name}.d.ts`) ? "" : line,
  );
}

/** The file's text with the namespace `Intl` and each member that mentions it blanked. */
function withoutIntl(file: ts.SourceFile): string {
  let text = file.text;
  const blank = (node: ts.Node) => {
    const start = node.getStart(file);
    text = text.slice(0, start) + text.slice(start, node.end).replace(/[^\n]/g, " ") + text.slice(node.end);
  };
  for (const statement of file.statements) {
    if (ts.isModuleDeclaration(statement) && statement.name.text === "Intl") blank(statement);
    else if (ts.isInterfaceDeclaration(statement)) {
      for (const member of statement.members) if (/\bIntl\./.test(member.getText(file))) blank(member);
    }
  }
  return text;
}
