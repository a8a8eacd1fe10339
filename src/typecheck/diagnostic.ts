import ts from "typescript";
import type { Diagnostic } from "./check-result.ts";
import { hintFor } from "./hint.ts";

/** Characters of a message and of the offending line that are shown. */
const TEXT_LENGTH_MAX = 1_000;
const SOURCE_LENGTH_MAX = 200;

/** Messages that speak of the compiler's options, which nobody who writes a script can see. */
const PLAINER_TEXTS: ReadonlyMap<number, string> = new Map([
  [1294, "this syntax is not supported in scripts: types are stripped, not compiled"],
  [1484, "a type must be imported with `import type`"],
]);

/** Advice of the compiler about options and packages, which no script can follow. */
const USELESS_ADVICE = / Do you need to (?:change|install) [\s\S]*/;

/** A diagnostic at a position of the script. @param text what is wrong */
export function diagnosticAt(file: ts.SourceFile, position: number, text: string, hint?: string): Diagnostic {
  const { line, character } = file.getLineAndCharacterOfPosition(position);
  const start = file.getPositionOfLineAndCharacter(line, 0);
  const source = file.text.slice(start).split(/\r\n|[\n\r\u2028\u2029]/, 1)[0] ?? "";
  const base = {
    line: line + 1,
    column: character + 1,
    text: cut(text, TEXT_LENGTH_MAX),
    source: cut(source.trim(), SOURCE_LENGTH_MAX),
  };
  return hint === undefined ? base : { ...base, hint };
}

/** A compiler's diagnostic as whoever wrote the script needs it. */
export function readableDiagnostic(diagnostic: ts.Diagnostic, file: ts.SourceFile, program: ts.Program): Diagnostic {
  const whole = ts.flattenDiagnosticMessageText(diagnostic.messageText, "\n").replace(USELESS_ADVICE, "");
  const text = PLAINER_TEXTS.get(diagnostic.code) ?? whole;
  return diagnosticAt(file, diagnostic.start ?? 0, text, hintFor(diagnostic, text, file, program));
}

function cut(text: string, lengthMax: number): string {
  return text.length <= lengthMax ? text : `${text.slice(0, lengthMax - 1).toWellFormed()}…`;
}
