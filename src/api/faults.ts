import { z } from "zod";
import type { Fault } from "../base/errors.ts";

type Issue = z.core.$ZodIssue;
type Path = readonly PropertyKey[];

/** Most edits between an unknown field's name and the known one that is suggested. */
const SUGGESTION_DISTANCE_MAX = 3;

/**
 * The schema's issues as faults for people: a path such as `spec.servers[0].url`, and what to write instead.
 * @param root the value that was checked
 */
export function explainIssues(issues: readonly Issue[], schema: z.ZodType, root: unknown): Fault[] {
  return issues.flatMap((issue) => explain(issue, schema, root));
}

function explain(issue: Issue, schema: z.ZodType, root: unknown): Fault[] {
  const path = pathText(issue.path);
  switch (issue.code) {
    case "unrecognized_keys":
      return issue.keys.map((key) => ({
        path: pathText([...issue.path, key]),
        message: `unknown field${suggestion(key, knownFields(schema, issue.path))}`,
      }));
    case "invalid_type":
      return valueAt(root, issue.path) === undefined
        ? [{ path, message: "is required" }]
        : [{ path, message: `must be ${article(issue.expected)}, not ${typeName(valueAt(root, issue.path))}` }];
    case "invalid_value": {
      const value = valueAt(root, issue.path);
      if (value === undefined) return [{ path, message: "is required" }];
      const words = issue.values.map(String);
      return [{ path, message: `must be one of ${words.join(", ")}${suggestion(String(value), words)}` }];
    }
    case "too_big":
      return [{ path, message: `must have at most ${issue.maximum}${unit(issue.origin)}` }];
    case "too_small":
      return [{ path, message: `must have at least ${issue.minimum}${unit(issue.origin)}` }];
    case "invalid_union":
    case "invalid_key":
      return [{ path, message: "has the wrong type" }];
    default:
      return [{ path, message: issue.message }];
  }
}

/** A path as people write it: `spec.servers[0].headers["x-team"]` (plain keys by dots). */
export function pathText(path: Path): string {
  return path.reduce<string>((text, part) => {
    if (typeof part === "number") return `${text}[${part}]`;
    const name = String(part);
    if (!/^[A-Za-z0-9_$-]+$/.test(name)) return `${text}[${JSON.stringify(name)}]`;
    return text === "" ? name : `${text}.${name}`;
  }, "");
}

function valueAt(root: unknown, path: Path): unknown {
  return path.reduce<unknown>((value, part) => (value as Record<PropertyKey, unknown> | undefined)?.[part], root);
}

function typeName(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "a list" : article(typeof value);
}

function article(type: string): string {
  const names: Readonly<Record<string, string>> = {
    array: "a list",
    boolean: "true or false",
    int: "a whole number",
    number: "a number",
    bigint: "a number",
    object: "a map",
    record: "a map",
    string: "a text",
  };
  return names[type] ?? type;
}

function unit(origin: string): string {
  if (origin === "string") return " characters";
  return origin === "array" ? " entries" : "";
}

/** The names of the fields of the object at a path: what may be written there. */
function knownFields(schema: z.ZodType, path: Path): string[] {
  let at: z.core.$ZodType | undefined = unwrap(schema);
  for (const part of path) {
    if (at instanceof z.ZodObject) at = at.shape[String(part)];
    else if (at instanceof z.ZodArray) at = at.element;
    else if (at instanceof z.ZodRecord) at = at.valueType;
    else return [];
    at = at === undefined ? undefined : unwrap(at);
  }
  return at instanceof z.ZodObject ? Object.keys(at.shape) : [];
}

function unwrap(schema: z.core.$ZodType): z.core.$ZodType {
  let inner = schema;
  while (inner instanceof z.ZodOptional || inner instanceof z.ZodExactOptional) inner = inner.unwrap();
  return inner;
}

function suggestion(written: string, known: readonly string[]): string {
  const best = known
    .map((name) => ({ name, distance: editDistance(written.toLowerCase(), name.toLowerCase()) }))
    .filter(({ name, distance }) => distance <= Math.min(SUGGESTION_DISTANCE_MAX, Math.ceil(name.length / 2)))
    .sort((left, right) => left.distance - right.distance)[0];
  return best === undefined ? "" : `; did you mean ${best.name}?`;
}

/** Levenshtein's distance: how many letters are inserted, left out or replaced. Names are cut at 64 characters. */
export function editDistance(from: string, to: string): number {
  const target = to.slice(0, 64);
  let row = Array.from({ length: target.length + 1 }, (_, index) => index);
  for (const [index, letter] of [...from.slice(0, 64)].entries()) {
    const next = [index + 1];
    for (let column = 1; column <= target.length; column++) {
      const replaced = (row[column - 1] ?? 0) + (target[column - 1] === letter ? 0 : 1);
      next.push(Math.min(replaced, (row[column] ?? 0) + 1, (next[column - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[target.length] ?? 0;
}
