import { scriptFrames } from "./places.ts";
import { defineProperty, ErrorOf, quote, slice, WeakMapOf, weakGet, weakSet } from "./primordials.ts";

/** The fields of a failed call besides its message (semantics 4.7). */
export interface ToolErrorFields {
  code: string;
  tool: string;
  seq?: number;
  outcomeUnknown?: boolean;
  attempts?: number;
  details?: unknown;
}

/** A failed call, as scripts see it. A script may make some itself; only those of real calls carry the mark below. */
export class ToolError extends ErrorOf {
  declare readonly code: string;
  declare readonly tool: string;
  declare readonly seq: number | undefined;
  declare readonly outcomeUnknown: boolean;
  declare readonly attempts: number;
  declare readonly details: unknown;

  constructor(message: string, fields: ToolErrorFields) {
    super(message);
    field(this, "code", fields.code);
    field(this, "tool", fields.tool);
    field(this, "seq", fields.seq);
    field(this, "outcomeUnknown", fields.outcomeUnknown === true);
    field(this, "attempts", fields.attempts ?? 0);
    field(this, "details", fields.details);
  }
}
defineProperty(ToolError.prototype, "name", { value: "ToolError", writable: true, configurable: true });

function field(error: ToolError, name: string, value: unknown): void {
  defineProperty(error, name, { value, enumerable: true, configurable: true, writable: true });
}

/** The errors of real calls, each with what the machine outside knows of it, as JSON text: no script can forge or change it. */
const calls = new WeakMapOf<object, string>();

/** Makes the error of a real call. `calledAt` is the stack at the call, so that it names the script's line and nothing of ours. */
export function failedCall(
  message: string,
  fields: ToolErrorFields,
  calledAt: string,
  detailsText?: string,
): ToolError {
  const error = new ToolError(message, fields);
  const frames = scriptFrames(calledAt);
  defineProperty(error, "stack", { value: frames, writable: true, configurable: true });
  let known = slice(quote({ ...fields, message, details: undefined } as never), 0, -1);
  if (detailsText !== undefined) known += `,"detailsText":${quote(detailsText)}`;
  weakSet(calls, error, `${known}}`);
  return error;
}

/** What is known of the call whose error this is, as JSON text (a CallError); undefined for any other value. */
export function knownCall(value: unknown): string | undefined {
  return typeof value === "object" && value !== null ? weakGet(calls, value) : undefined;
}
