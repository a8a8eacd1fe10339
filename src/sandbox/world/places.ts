import { charCodeAt, ErrorOf, indexOf, slice } from "./primordials.ts";

/** The script's file name in stacks. */
const SCRIPT = "script.ts:";

/** The stack at this moment, as text. */
export function stackHere(): string {
  return new ErrorOf().stack ?? "";
}

/** A place in the script's source, both counted from 1. */
export interface ScriptPlace {
  readonly line: number;
  readonly column: number;
}

/** The innermost place of the script that a stack names. */
export function placeIn(stack: string): ScriptPlace | undefined {
  const found = indexOf(stack, SCRIPT);
  if (found < 0) return undefined;
  const line = readNumber(stack, found + SCRIPT.length);
  const column = readNumber(stack, found + SCRIPT.length + `${line}`.length + 1);
  return line > 0 ? { line, column } : undefined;
}

function readNumber(text: string, from: number): number {
  let value = 0;
  for (let index = from; index < text.length; index += 1) {
    const digit = charCodeAt(text, index) - 48;
    if (!(digit >= 0 && digit <= 9)) break;
    value = value * 10 + digit;
  }
  return value;
}

/** A stack without the frames that are not the script's. */
export function scriptFrames(stack: string): string {
  let kept = "";
  let from = 0;
  while (from < stack.length) {
    const newline = indexOf(stack, "\n", from);
    const end = newline < 0 ? stack.length : newline + 1;
    const frame = slice(stack, from, end);
    if (indexOf(frame, SCRIPT) >= 0) kept += frame;
    from = end;
  }
  return kept;
}
