import type { RunFailure } from "../journal/documents.ts";
import type { ScriptFailure, UnhandledFailure } from "../sandbox/port.ts";

const LIMIT_CODES = new Set(["MemoryLimit", "CpuLimit", "CallLimit", "JournalLimit"]);

/** Whether the script exceeded a limit: such a run ends at once, whatever is open (semantics 3.5). */
export function isLimit(error: ScriptFailure): boolean {
  return LIMIT_CODES.has(error.code);
}

/** How a run failed, from what the sandbox says of its script. */
export function scriptFailure(error: ScriptFailure): RunFailure {
  const { callError } = error;
  const call = callError && {
    tool: callError.tool,
    ...(callError.seq === undefined ? {} : { seq: callError.seq }),
    outcomeUnknown: callError.outcomeUnknown,
    attempts: callError.attempts,
  };
  return {
    code: error.code,
    message: error.message,
    ...call,
    ...(error.line === undefined ? {} : { line: error.line }),
    ...(error.column === undefined ? {} : { column: error.column }),
  };
}

/** A call's failure that nothing in the script handled (semantics 3.9). */
export function unhandledFailure({ error, line }: UnhandledFailure): RunFailure {
  return {
    code: "UnhandledToolError",
    message: `nothing handled the failure of ${error.tool} (${error.code}): ${error.message}`,
    tool: error.tool,
    ...(error.seq === undefined ? {} : { seq: error.seq }),
    ...(line === undefined ? {} : { line }),
  };
}

/** The script waits for what nobody can bring (semantics 3.10). */
export function stalledFailure(line: number | undefined): RunFailure {
  const message = "the script waits for a promise that nothing can settle";
  return { code: "ScriptStalled", message, ...(line === undefined ? {} : { line }) };
}
