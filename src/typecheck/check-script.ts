import { transformSync } from "amaro";
import ts from "typescript";
import type { ScriptDiagnostic } from "../journal/documents.ts";
import { globalsDeclaration } from "../sandbox/globals-declaration.ts";
import type { CheckRequest, CheckResult } from "./checker.ts";
import { floatingPromises } from "./floating-promises.ts";
import { scriptLibraryFiles } from "./script-library.ts";

const SCRIPT = "/script.ts";
const DECLARATIONS = "/rewind-tools.d.ts";
const GLOBALS = "/globals.d.ts";
const MODULES = new Set(["rewind:tools", "rewind"]);
const SCRIPT_BYTES_MAX = 256 * 1024;
const DIAGNOSTICS_MAX = 50;

const OPTIONS: ts.CompilerOptions = {
  target: ts.ScriptTarget.ES2023,
  module: ts.ModuleKind.ESNext,
  moduleResolution: ts.ModuleResolutionKind.Bundler,
  moduleDetection: ts.ModuleDetectionKind.Force,
  strict: true,
  noEmit: true,
  noLib: true,
  types: [],
  skipLibCheck: true,
  // Types are stripped, not compiled: what needs code for a type is refused here, with its place.
  erasableSyntaxOnly: true,
  verbatimModuleSyntax: false,
  noErrorTruncation: false,
};

/** Hints for what people reach for and the sandbox does not have. */
const MISSING_GLOBALS: Readonly<Record<string, string>> = {
  Intl: "Intl is not there: scripts know one locale (en-US) and UTC; toLocaleString() without arguments works",
  setTimeout: 'timers are not there: await sleep("10s") of module "rewind" waits durably',
  setInterval: 'timers are not there: use a loop with await sleep("10s") of module "rewind"',
  fetch: "fetch is not there: the Toolset does not enable the http tool",
  process: "there is no process: everything a script needs comes as input or from its tools",
  require: 'imports are only from "rewind:tools" and "rewind"',
};

/** The type-checker, warm: library and declarations are parsed once. Belongs into a process of its own. */
export class ScriptCheck {
  readonly #library: ReadonlyMap<string, ts.SourceFile>;
  readonly #declarations = new Map<string, ts.SourceFile>();
  #previous: ts.Program | undefined;

  constructor() {
    const files = new Map([...scriptLibraryFiles()].map(([name, text]) => [`/${name}`, text]));
    files.set(GLOBALS, globalsDeclaration);
    this.#library = new Map(
      [...files].map(([name, text]) => [name, ts.createSourceFile(name, text, ts.ScriptTarget.ES2023, true)]),
    );
  }

  /** Checks one script. Synchronous and unbounded in time: whoever calls must be able to stop the process. */
  check({ declarationText, script }: CheckRequest): CheckResult {
    const bytes = Buffer.byteLength(script, "utf8");
    if (bytes > SCRIPT_BYTES_MAX)
      return invalid([
        { line: 1, column: 1, message: `the script has ${bytes} bytes, the limit is ${SCRIPT_BYTES_MAX}` },
      ]);
    const source = ts.createSourceFile(SCRIPT, script, ts.ScriptTarget.ES2023, true);
    const wrongImports = importFaults(source);
    if (wrongImports.length > 0) return invalid(wrongImports);
    const program = this.#program(source, declarationText);
    const faults = [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)];
    const diagnostics = faults
      .filter((fault) => fault.category === ts.DiagnosticCategory.Error)
      .map((fault) => describe(source, fault));
    if (diagnostics.length > 0) return invalid(diagnostics);
    return strip(script, floatingPromises(source, program.getTypeChecker()));
  }

  #program(source: ts.SourceFile, declarationText: string): ts.Program {
    let declarations = this.#declarations.get(declarationText);
    if (!declarations) {
      // One pin's declarations are kept: a dispatcher serves one Toolset, whose runs mostly share a pin.
      this.#declarations.clear();
      declarations = ts.createSourceFile(DECLARATIONS, declarationText, ts.ScriptTarget.ES2023, true);
      this.#declarations.set(declarationText, declarations);
    }
    const files = new Map([...this.#library, [DECLARATIONS, declarations], [SCRIPT, source]]);
    const host: ts.CompilerHost = {
      getSourceFile: (name) => files.get(name),
      getDefaultLibFileName: () => "/lib.es2023.d.ts",
      writeFile: () => {},
      getCurrentDirectory: () => "/",
      getCanonicalFileName: (name) => name,
      useCaseSensitiveFileNames: () => true,
      getNewLine: () => "\n",
      fileExists: (name) => files.has(name),
      readFile: () => undefined,
      directoryExists: () => false,
      getDirectories: () => [],
    };
    const program = ts.createProgram([...files.keys()], OPTIONS, host, this.#previous);
    this.#previous = program;
    return program;
  }
}

function invalid(diagnostics: readonly ScriptDiagnostic[]): CheckResult {
  return { ok: false, code: "ScriptInvalid", diagnostics: diagnostics.slice(0, DIAGNOSTICS_MAX) };
}

function strip(script: string, warnings: readonly ScriptDiagnostic[]): CheckResult {
  try {
    return {
      ok: true,
      moduleSource: transformSync(script, { mode: "strip-only" }).code,
      warnings: warnings.slice(0, DIAGNOSTICS_MAX),
    };
  } catch (error) {
    return invalid([
      { line: 1, column: 1, message: `the script's types cannot be stripped: ${(error as Error).message}` },
    ]);
  }
}

function importFaults(source: ts.SourceFile): ScriptDiagnostic[] {
  const imported = ts.preProcessFile(source.text, true, true).importedFiles;
  return imported
    .filter(({ fileName }) => !MODULES.has(fileName))
    .map(({ fileName, pos }) => ({
      ...place(source, pos),
      message: `there is no module "${fileName}": a script imports only "rewind:tools" and "rewind"`,
    }));
}

function describe(source: ts.SourceFile, fault: ts.Diagnostic): ScriptDiagnostic {
  const start = fault.start ?? 0;
  const text = ts.flattenDiagnosticMessageText(fault.messageText, "\n");
  const name = source.text.slice(start, start + (fault.length ?? 0));
  const hint =
    /Cannot find name|only refers to a type|Cannot use namespace/.test(text) && Object.hasOwn(MISSING_GLOBALS, name)
      ? MISSING_GLOBALS[name]
      : undefined;
  return { ...place(source, start), message: hint ?? `${text} (TS${fault.code})` };
}

function place(source: ts.SourceFile, position: number): { line: number; column: number } {
  const { line, character } = source.getLineAndCharacterOfPosition(position);
  return { line: line + 1, column: character + 1 };
}
