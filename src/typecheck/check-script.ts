import amaro from "amaro";
import ts from "typescript";
import { globalsDeclaration } from "../sandbox/globals-declaration.ts";
import type { CheckRequest, CheckResult, Diagnostic } from "./check-result.ts";
import { readableDiagnostic } from "./diagnostic.ts";
import { floatingPromises } from "./floating-promises.ts";
import { loadScriptLibrary, scriptLibraryRoot } from "./script-library.ts";
import { syntaxFaults } from "./syntax-faults.ts";

const OPTIONS: ts.CompilerOptions = {
  target: ts.ScriptTarget.ES2023,
  module: ts.ModuleKind.ESNext,
  moduleResolution: ts.ModuleResolutionKind.Bundler,
  moduleDetection: ts.ModuleDetectionKind.Force,
  strict: true,
  noEmit: true,
  // Types are stripped, not compiled: what strips to nothing must be written so.
  erasableSyntaxOnly: true,
  verbatimModuleSyntax: true,
  isolatedModules: true,
  skipLibCheck: true,
  types: [],
};
const SCRIPT_FILE = "/script.ts";
const DECLARATION_FILE = "/rewind-tools.d.ts";
const GLOBALS_FILE = "/globals.d.ts";
/** Diagnostics of one kind that are listed: whoever repairs a script reads the first ones. */
const DIAGNOSTICS_MAX = 50;
/** Parsed declarations kept: the pins that a Toolset's runs use at the same time. */
const DECLARATIONS_MAX = 4;

const target = ts.ScriptTarget.ES2023;
const library = loadScriptLibrary(target);
const globals = ts.createSourceFile(GLOBALS_FILE, globalsDeclaration, target, true);
const declarations = new Map<string, ts.SourceFile>();

/** Checks one script. Takes as long as its types make it: run it only where it can be killed. */
export function checkScript(request: CheckRequest): CheckResult {
  try {
    return check(request);
  } catch (error) {
    // The compiler's own recursion met a script nested deeper than its stack.
    if (!(error instanceof RangeError)) throw error;
    const text = "checking the script's types went too deep";
    return { ok: false, code: "ScriptCheckTooComplex", diagnostics: [{ line: 1, column: 1, text, source: "" }] };
  }
}

function check({ declarationText, script }: CheckRequest): CheckResult {
  const options = { languageVersion: target, setExternalModuleIndicator: markAsModule };
  const file = ts.createSourceFile(SCRIPT_FILE, script, options, true, ts.ScriptKind.TS);
  const program = programOf(file, declarationFile(declarationText));
  const syntactic = program.getSyntacticDiagnostics(file);
  // After a syntax error types only say what the error makes them say.
  const semantic = syntactic.length > 0 ? [] : program.getSemanticDiagnostics(file);
  const own = syntactic.length > 0 ? [] : syntaxFaults(file);
  const readable = [...syntactic, ...semantic].map((diagnostic) => readableDiagnostic(diagnostic, file, program));
  const diagnostics = inOrder([...own, ...readable]);
  if (diagnostics.length > 0) return { ok: false, code: "ScriptInvalid", diagnostics };
  const stripped = strip(script);
  if (typeof stripped !== "string") return { ok: false, code: "ScriptInvalid", diagnostics: [stripped] };
  return { ok: true, moduleSource: stripped, warnings: inOrder(floatingPromises(file, program.getTypeChecker())) };
}

/** A script is a module even without an import or export: its names are its own, and it may await at its top level. */
function markAsModule(file: ts.SourceFile & { externalModuleIndicator?: true }): void {
  file.externalModuleIndicator = true;
}

function programOf(script: ts.SourceFile, declaration: ts.SourceFile): ts.Program {
  const files = new Map([script, declaration, globals].map((file) => [file.fileName, file]));
  const find = (name: string) => files.get(name) ?? library.get(name.slice(name.lastIndexOf("/") + 1));
  const host: ts.CompilerHost = {
    getSourceFile: find,
    fileExists: (name) => find(name) !== undefined,
    readFile: (name) => find(name)?.text,
    getDefaultLibFileName: () => `/${scriptLibraryRoot}`,
    getDefaultLibLocation: () => "/",
    getCurrentDirectory: () => "/",
    getCanonicalFileName: (name) => name,
    useCaseSensitiveFileNames: () => true,
    getNewLine: () => "\n",
    writeFile: () => undefined,
    directoryExists: () => false,
    getDirectories: () => [],
  };
  return ts.createProgram({ rootNames: [...files.keys()], options: OPTIONS, host });
}

function declarationFile(text: string): ts.SourceFile {
  const file = declarations.get(text) ?? ts.createSourceFile(DECLARATION_FILE, text, target, true);
  declarations.delete(text);
  declarations.set(text, file);
  for (const oldest of declarations.keys()) {
    if (declarations.size <= DECLARATIONS_MAX) break;
    declarations.delete(oldest);
  }
  return file;
}

function inOrder(diagnostics: readonly Diagnostic[]): Diagnostic[] {
  const seen = new Set<string>();
  return diagnostics
    .toSorted((left, right) => left.line - right.line || left.column - right.column)
    .filter(({ line, column }) => {
      const isNew = !seen.has(`${line}:${column}`);
      seen.add(`${line}:${column}`);
      return isNew;
    })
    .slice(0, DIAGNOSTICS_MAX);
}

/** @returns the script as JavaScript, positions kept, or why it cannot be stripped */
function strip(script: string): string | Diagnostic {
  try {
    return amaro.transformSync(script, { mode: "strip-only" }).code;
  } catch (error) {
    const text = `the types cannot be stripped: ${error instanceof Error ? error.message : String(error)}`;
    return { line: 1, column: 1, text, source: "" };
  }
}
