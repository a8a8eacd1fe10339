import { callErrorCodes } from "../base/errors.ts";

const codes = Object.keys(callErrorCodes)
  .map((code) => JSON.stringify(code))
  .join(" | ");

/** Module "rewind": what every script has, whatever its Toolset (semantics 3.4). */
export const rewindModule = `declare module "rewind" {
  /** Waits that long, for free: nothing runs meanwhile. A text such as "90s", "1h30m", "40d", or milliseconds. */
  export function sleep(duration: string | number): Promise<void>;
  /** Waits until that moment: a Date, an ISO text, or milliseconds since the epoch. */
  export function sleepUntil(date: Date | string | number): Promise<void>;
  /** Takes the oldest unread payload of that signal, or waits for one. With a timeout it gives undefined when none came in time. */
  export function signal<Payload = unknown>(name: string): Promise<Payload>;
  export function signal<Payload = unknown>(
    name: string,
    options: { timeout?: string | number },
  ): Promise<Payload | undefined>;
  /** How every failed call rejects. */
  export class ToolError extends Error {
    constructor(message: string, fields: { code: ToolErrorCode; tool: string; details?: unknown });
    readonly code: ToolErrorCode;
    /** The tool that was called: \`group.name\`. */
    readonly tool: string;
    /** The call's number in its run; undefined when it was refused before it was recorded. */
    readonly seq: number | undefined;
    /** Whether the call may have taken effect although it failed. */
    readonly outcomeUnknown: boolean;
    readonly attempts: number;
    /** What else is known: a failed tool's content, the paths of wrong arguments. */
    readonly details: unknown;
  }
  export type ToolErrorCode = ${codes};
  /** This run. */
  export const run: {
    readonly id: string;
    readonly toolset: { readonly name: string; readonly digest: string };
    /** The Run's input; undefined when it has none. */
    readonly input: unknown;
  };
  export {};
}
`;

/** The same for a prompt, one line each. */
export const rewindPrompt: readonly string[] = [
  'sleep(duration: string) → void · From "rewind": waits "90s", "1h30m", "40d"; nothing runs meanwhile.',
  'sleepUntil(date) → void · From "rewind".',
  'signal(name, { timeout?: string }) → payload · From "rewind": waits for the signal; undefined when it timed out.',
  'ToolError { code, tool, seq, outcomeUnknown, attempts } · From "rewind": how every failed call rejects.',
  'run { id, toolset, input } · From "rewind".',
];
