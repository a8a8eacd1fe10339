import ts from "typescript";
import type { ScriptDiagnostic } from "../journal/documents.ts";

/** Promises that a statement drops: their failure can only end the run. A warning, never a refusal (semantics 3.2). */
export function floatingPromises(source: ts.SourceFile, checker: ts.TypeChecker): ScriptDiagnostic[] {
  const found: ScriptDiagnostic[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isExpressionStatement(node) && isDropped(node.expression, checker)) {
      const { line, character } = source.getLineAndCharacterOfPosition(node.getStart(source));
      const text = node.expression.getText(source).slice(0, 80);
      found.push({
        line: line + 1,
        column: character + 1,
        message: `the promise of ${text} is not awaited: put await before it, or void if that is meant`,
      });
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

function isDropped(expression: ts.Expression, checker: ts.TypeChecker): boolean {
  if (ts.isVoidExpression(expression) || ts.isAwaitExpression(expression) || ts.isBinaryExpression(expression))
    return false;
  const type = checker.getTypeAtLocation(expression);
  return !(type.flags & ts.TypeFlags.Any) && type.getProperty("then") !== undefined;
}
