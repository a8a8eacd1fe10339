import ts from "typescript";
import type { Diagnostic } from "./check-result.ts";
import { diagnosticAt } from "./diagnostic.ts";

const TEXT = "the result of this call is never awaited: a failure of it ends the run as UnhandledToolError";
const HINT = "Write `await` before it, handle its errors with `.catch`, or write `void` where it is meant.";

/** Promises that a statement makes and drops (semantics 3.2: a warning, never a refusal). */
export function floatingPromises(file: ts.SourceFile, checker: ts.TypeChecker): Diagnostic[] {
  const found: Diagnostic[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isExpressionStatement(node) && isDropped(node.expression, checker)) {
      found.push(diagnosticAt(file, node.getStart(file), TEXT, HINT));
    }
    ts.forEachChild(node, visit);
  };
  ts.forEachChild(file, visit);
  return found;
}

function isDropped(expression: ts.Expression, checker: ts.TypeChecker): boolean {
  const inner = withoutParentheses(expression);
  if (ts.isAwaitExpression(inner) || ts.isVoidExpression(inner)) return false;
  if (ts.isBinaryExpression(inner) && inner.operatorToken.kind === ts.SyntaxKind.EqualsToken) return false;
  if (ts.isCallExpression(inner) && handlesFailure(inner, checker)) return false;
  const type = checker.getTypeAtLocation(inner);
  return (type.flags & ts.TypeFlags.Any) === 0 && type.getProperty("then") !== undefined;
}

function handlesFailure(call: ts.CallExpression, checker: ts.TypeChecker): boolean {
  if (!ts.isPropertyAccessExpression(call.expression)) return false;
  const { name, expression } = call.expression;
  if (name.text === "catch") return call.arguments.length > 0;
  if (name.text === "then") return call.arguments.length > 1;
  return name.text === "finally" && !isDropped(expression, checker);
}

function withoutParentheses(expression: ts.Expression): ts.Expression {
  return ts.isParenthesizedExpression(expression) ? withoutParentheses(expression.expression) : expression;
}
