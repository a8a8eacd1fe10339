import { describe } from "./inspect.ts";
import { placeIn } from "./places.ts";
import { indexOf, quote, StringOf } from "./primordials.ts";
import { knownCall } from "./tool-error.ts";

/** The first script place of a stack, as JSON members. */
function placeMembers(stack: string): string {
  const place = placeIn(stack);
  return place === undefined ? "" : `,"line":${place.line},"column":${place.column}`;
}

/**
 * What the script threw, as the JSON text of a ScriptFailure. A call's error keeps its code; a syntax error from before
 * the first line ran (its stack names a place, but no function) is `ScriptInvalid`; all else is `ScriptThrew`.
 */
export function describeFailure(error: unknown): string {
  const stack = textOf(error, "stack");
  const call = knownCall(error);
  if (call !== undefined) {
    const message = textOf(error, "message");
    return `{"callError":${call},"message":${quote(message)}${placeMembers(stack)}}`;
  }
  if (!(error instanceof Error)) return `{"code":"ScriptThrew","message":${quote(describe(error))}}`;
  const name = textOf(error, "name");
  const message = textOf(error, "message");
  const code = name === "SyntaxError" && indexOf(stack, "(") < 0 ? "ScriptInvalid" : "ScriptThrew";
  const text = message === "" ? name : name === "" || name === "Error" ? message : `${name}: ${message}`;
  return `{"code":"${code}","message":${quote(text)}${placeMembers(stack)}}`;
}

/** A property of a thrown value as text: whatever a getter or a Proxy does, there is an answer. */
function textOf(value: unknown, name: string): string {
  try {
    const text = (value as Record<string, unknown> | null | undefined)?.[name];
    return text === undefined ? "" : StringOf(text);
  } catch {
    return "";
  }
}

/** What is known of a call whose error this is, as the JSON text of an UnhandledFailure; undefined for any other value. */
export function describeUnhandled(reason: unknown): string | undefined {
  const call = knownCall(reason);
  if (call === undefined) return undefined;
  const line = placeIn(textOf(reason, "stack"))?.line;
  return `{"error":${call}${line === undefined ? "" : `,"line":${line}`}}`;
}
