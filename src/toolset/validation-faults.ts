import type { ErrorObject } from "ajv/dist/core.js";
import type { Fault } from "../base/errors.ts";
import type { Json } from "../base/exact-json.ts";
import { childPath, pointerParts } from "./json-path.ts";

/** Faults of one value that are listed: enough to correct a call by, and bounded whatever the value. */
const FAULTS_MAX = 50;
/** Values of an enum that a message lists. */
const CHOICES_MAX = 20;

/** What the validator found, as sentences with JSON paths, in the order of the checks, without repetitions. */
export function readableFaults(errors: readonly ErrorObject[], value: Json): Fault[] {
  const faults = new Map<string, Fault>();
  for (const error of errors) {
    // An `if` only says that its branch failed, and the branch's own faults stand beside it.
    if (error.keyword === "if") continue;
    const fault = readable(error, value);
    faults.set(`${fault.path} ${fault.message}`, fault);
    if (faults.size === FAULTS_MAX) break;
  }
  return faults.size > 0 ? [...faults.values()] : [{ path: "$", message: "does not fit the schema" }];
}

function readable(error: ErrorObject, value: Json): Fault {
  const { path, found } = locate(error.instancePath, value);
  const params: Record<string, unknown> = error.params;
  switch (error.keyword) {
    case "required":
      return { path: childPath(path, String(params["missingProperty"])), message: "is required" };
    case "additionalProperties":
      return { path: childPath(path, String(params["additionalProperty"])), message: "is no property of this object" };
    case "unevaluatedProperties":
      return { path: childPath(path, String(params["unevaluatedProperty"])), message: "is no property of this object" };
    case "type":
      return { path, message: `must be ${[params["type"]].flat().join(" or ")}, and is ${kindOf(found)}` };
    case "enum":
      return { path, message: `must be ${choices(params["allowedValues"])}` };
    case "const":
      return { path, message: `must be ${choices([params["allowedValue"]])}` };
    case "false schema":
    case "not":
      return { path, message: "is not allowed here" };
    default:
      return { path, message: error.message ?? "does not fit the schema" };
  }
}

function locate(pointer: string, value: Json): { path: string; found: Json | undefined } {
  let path = "$";
  let found: Json | undefined = value;
  for (const part of pointerParts(pointer) ?? []) {
    path = childPath(path, Array.isArray(found) ? Number(part) : part);
    const holder: unknown = found;
    found = typeof holder === "object" && holder !== null ? (holder as Record<string, Json>)[part] : undefined;
  }
  return { path, found };
}

function kindOf(value: Json | undefined): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : typeof value;
}

function choices(allowed: unknown): string {
  const all = Array.isArray(allowed) ? allowed : [];
  const listed = all.slice(0, CHOICES_MAX).map((item) => JSON.stringify(item));
  const rest = all.length > CHOICES_MAX ? [`one of ${all.length - CHOICES_MAX} more`] : [];
  return [...listed, ...rest].join(" or ");
}
