import { digestText } from "../base/digest.ts";
import { CheckProcess } from "./check-process.ts";
import type { CheckRequest, CheckResult } from "./check-result.ts";

export type { CheckRequest, CheckResult, Diagnostic } from "./check-result.ts";

/** Type-checks scripts against a pin's declarations and strips their types (semantics 3.1, 3.2). */
export interface ScriptChecker {
  /**
   * Never rejects for what a script holds; rejects when no checking process can be started, which says nothing of the script.
   * @param request.declarationText `rewind-tools.d.ts` of the run's pin
   */
  check(request: CheckRequest): Promise<CheckResult>;
  /** Ends the process. Checks under way reject. */
  close(): Promise<void>;
}

export interface ScriptCheckerOptions {
  /** Of one check, after which its process is killed and the script is too complex. 10 s unless set. */
  readonly timeLimitMs?: number;
  /** Of the process's JavaScript heap. 768 MiB unless set: an ordinary check takes 150 MB, a hostile one about a gigabyte. */
  readonly memoryMebibytes?: number;
  /** Without a check for this long the process ends and gives its memory back. A minute unless set. */
  readonly idleAfterMs?: number;
}

/** Largest script, UTF-8 (semantics 3.5). */
export const SCRIPT_BYTES_MAX = 256 * 1024;
/** Results kept. Each holds a script of at most 256 KiB. */
const RESULTS_MAX = 64;
const TIME_LIMIT_MS_DEFAULT = 10_000;
const MEMORY_MEBIBYTES_DEFAULT = 768;
const IDLE_AFTER_MS_DEFAULT = 60_000;

/**
 * A checker with one process of its own, started at the first check and reused while it lives. Checks run one after another:
 * a warm one takes tens of milliseconds, and a second process would double the memory.
 */
export function createScriptChecker(options: ScriptCheckerOptions = {}): ScriptChecker {
  const process = new CheckProcess({
    timeLimitMs: options.timeLimitMs ?? TIME_LIMIT_MS_DEFAULT,
    memoryMebibytes: options.memoryMebibytes ?? MEMORY_MEBIBYTES_DEFAULT,
    idleAfterMs: options.idleAfterMs ?? IDLE_AFTER_MS_DEFAULT,
  });
  const results = new Map<string, Promise<CheckResult>>();
  const check = (request: CheckRequest): Promise<CheckResult> => {
    const tooLarge = sizeFault(request.script);
    if (tooLarge) return Promise.resolve(tooLarge);
    const key = `${digestText(request.script)} ${digestText(request.declarationText)}`;
    const known = results.get(key);
    const result = known ?? process.check(request);
    results.delete(key);
    results.set(key, result);
    if (!known) result.catch(() => results.delete(key));
    for (const oldest of results.keys()) {
      if (results.size <= RESULTS_MAX) break;
      results.delete(oldest);
    }
    return result;
  };
  return { check, close: () => process.close() };
}

function sizeFault(script: string): CheckResult | undefined {
  const bytes = Buffer.byteLength(script);
  if (bytes <= SCRIPT_BYTES_MAX) return undefined;
  const text = `the script has ${bytes} bytes; the limit is ${SCRIPT_BYTES_MAX}`;
  const hint = "Move data into the Run's input, or split the script.";
  return { ok: false, code: "ScriptInvalid", diagnostics: [{ line: 1, column: 1, text, source: "", hint }] };
}
