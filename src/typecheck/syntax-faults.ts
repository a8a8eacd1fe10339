import ts from "typescript";
import type { Diagnostic } from "./check-result.ts";
import { diagnosticAt } from "./diagnostic.ts";

const MODULES: ReadonlySet<string> = new Set(["rewind:tools", "rewind"]);
const MODULES_HINT = 'A script imports only from "rewind:tools" and "rewind".';

/** What TypeScript takes and a script cannot hold: other modules, imports while it runs, decorators (semantics 3.1). */
export function syntaxFaults(file: ts.SourceFile): Diagnostic[] {
  const faults: Diagnostic[] = [];
  const add = (node: ts.Node, text: string, hint: string) => {
    faults.push(diagnosticAt(file, node.getStart(file), text, hint));
  };
  const visit = (node: ts.Node): void => {
    const specifier = ts.isImportDeclaration(node) || ts.isExportDeclaration(node) ? node.moduleSpecifier : undefined;
    if (specifier && ts.isStringLiteral(specifier) && !MODULES.has(specifier.text)) {
      add(specifier, `the module ${JSON.stringify(specifier.text)} cannot be imported`, MODULES_HINT);
    }
    if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
      add(node, "a module cannot be imported while the script runs", "Write an import declaration at the top.");
    }
    if (ts.isDecorator(node)) add(node, "decorators are not supported", "Call the function instead.");
    if (node.kind === ts.SyntaxKind.AccessorKeyword && ts.isPropertyDeclaration(node.parent)) {
      add(node, "accessor fields are not supported", "Write a getter and a setter.");
    }
    ts.forEachChild(node, visit);
  };
  ts.forEachChild(file, visit);
  return faults;
}
