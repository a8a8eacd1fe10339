import ts from "typescript";

/** Names that exist elsewhere and not in a script, and what to do instead (semantics 3.3). */
const ABSENT_NAMES: ReadonlyMap<string, string> = new Map([
  ["Intl", "Scripts run in UTC with one locale; Intl does not exist. Format by hand, or let a tool do it."],
  ["setTimeout", 'Use sleep("10s") from "rewind".'],
  ["setInterval", 'Use a loop with sleep("10s") from "rewind".'],
  ["fetch", "Scripts have no network of their own. Call a tool."],
  ["process", "Scripts have no process or environment. Values come by the Run's input."],
  ["require", 'A script imports only from "rewind:tools" and "rewind".'],
  ["Buffer", "Use text and plain arrays; Buffer belongs to Node."],
]);
/** What strip-only TypeScript cannot hold, by the word it starts with. */
const NOT_ERASABLE =
  "This syntax makes code of its own. Use a const object and a union of literals instead of an enum, a module's own functions instead of a namespace, and fields instead of parameter properties.";
const NOT_ERASABLE_CODE = 1294;
const TYPE_ONLY_CODES: ReadonlySet<number> = new Set([1484, 1485]);
const NAMES_LISTED_MAX = 12;

/** What to write instead; undefined where the message says it all. */
export function hintFor(
  diagnostic: ts.Diagnostic,
  text: string,
  file: ts.SourceFile,
  program: ts.Program,
): string | undefined {
  if (diagnostic.code === NOT_ERASABLE_CODE) return NOT_ERASABLE;
  if (TYPE_ONLY_CODES.has(diagnostic.code)) return "Write `import type`: types are stripped, imports are not.";
  const node = nodeAt(file, diagnostic.start ?? 0);
  if (!node) return undefined;
  const absent = ts.isIdentifier(node) && /^Cannot find name/.test(text) ? ABSENT_NAMES.get(node.text) : undefined;
  if (absent) return absent;
  const candidates = candidatesFor(node, text, program.getTypeChecker());
  if (candidates.length === 0) return undefined;
  const nearest = nearestName(nameOf(node), candidates);
  if (nearest !== undefined) return `Did you mean ${nearest}?`;
  const listed = candidates.slice(0, NAMES_LISTED_MAX).join(", ");
  return `There is: ${listed}${candidates.length > NAMES_LISTED_MAX ? ", …" : ""}.`;
}

/** The names that would have been right where an unknown one stands. */
function candidatesFor(node: ts.Node, text: string, checker: ts.TypeChecker): string[] {
  const { parent } = node;
  if (/does not exist on type/.test(text)) {
    const holder =
      ts.isPropertyAccessExpression(parent) || ts.isElementAccessExpression(parent) ? parent.expression : undefined;
    return holder
      ? checker
          .getTypeAtLocation(holder)
          .getProperties()
          .map((symbol) => symbol.name)
      : [];
  }
  if (/has no exported member/.test(text) && ts.isImportSpecifier(parent)) {
    const specifier = parent.parent.parent.parent.moduleSpecifier;
    const module = checker.getSymbolAtLocation(specifier);
    const exported = module ? checker.getExportsOfModule(module) : [];
    return exported.filter((symbol) => (symbol.flags & ts.SymbolFlags.Value) !== 0).map((symbol) => symbol.name);
  }
  return [];
}

function nameOf(node: ts.Node): string {
  return ts.isIdentifier(node) || ts.isStringLiteralLike(node) ? node.text : "";
}

/** The innermost node that starts at a position. */
function nodeAt(file: ts.SourceFile, position: number): ts.Node | undefined {
  let found: ts.Node | undefined;
  const visit = (node: ts.Node): void => {
    if (position < node.getStart(file) || position >= node.end) return;
    found = node;
    ts.forEachChild(node, visit);
  };
  ts.forEachChild(file, visit);
  return found;
}

/** The candidate that takes the fewest edits, when they are at most a third of the name, case and separators aside. */
export function nearestName(name: string, candidates: readonly string[]): string | undefined {
  const wanted = plain(name);
  const most = Math.max(1, Math.floor(wanted.length / 3));
  let best: { readonly name: string; readonly edits: number } | undefined;
  for (const candidate of candidates) {
    const edits = editDistance(wanted, plain(candidate), Math.min(most, (best?.edits ?? most + 1) - 1));
    if (edits !== undefined) best = { name: candidate, edits };
    if (edits === 0) break;
  }
  return best?.name;
}

function plain(name: string): string {
  return name.slice(0, 100).toLowerCase().replace(/[-_.]/g, "");
}

/** The edits from one text to another, a swap counting as two; undefined when they are more than `most`. */
function editDistance(left: string, right: string, most: number): number | undefined {
  if (most < 0 || Math.abs(left.length - right.length) > most) return undefined;
  let row = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let at = 1; at <= left.length; at++) {
    const next = [at];
    for (let other = 1; other <= right.length; other++) {
      const replaced = (row[other - 1] ?? 0) + (left[at - 1] === right[other - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[other] ?? 0) + 1, (next[other - 1] ?? 0) + 1));
    }
    row = next;
  }
  const edits = row[right.length] ?? 0;
  return edits <= most ? edits : undefined;
}
