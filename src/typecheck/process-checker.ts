import { type ChildProcess, fork } from "node:child_process";
import { join } from "node:path";
import { digestText } from "../base/digest.ts";
import type { CheckRequest, CheckResult, ScriptChecker } from "./checker.ts";

export interface ProcessCheckerOptions {
  /** How long one check may take before its process is stopped. */
  readonly timeoutMs: number;
  /** Heap of the process; beyond it the check has failed. */
  readonly heapMebibytes: number;
}

const DEFAULTS: ProcessCheckerOptions = { timeoutMs: 10_000, heapMebibytes: 768 };
const START_TIMEOUT_MS = 30_000;
const RESULTS_MAX = 200;
const TOO_COMPLEX: CheckResult = { ok: false, code: "ScriptCheckTooComplex", diagnostics: [] };

/**
 * A checker whose work is done in a child process with bounded memory, which is stopped when a script's types take too long
 * (semantics 3.2). Checks wait in a row; a result is kept by the digests of script and declarations.
 */
export function createScriptChecker(options: Partial<ProcessCheckerOptions> = {}): ScriptChecker {
  const settings = { ...DEFAULTS, ...options };
  const results = new Map<string, CheckResult>();
  let child: Promise<ChildProcess> | undefined;
  let turn: Promise<unknown> = Promise.resolve();

  async function checkNow(request: CheckRequest): Promise<CheckResult> {
    child ??= startChild(settings.heapMebibytes);
    const running = await child.catch((error: unknown) => {
      child = undefined;
      throw error;
    });
    const result = await ask(running, request, settings.timeoutMs);
    if (result) return result;
    child = undefined;
    return TOO_COMPLEX;
  }

  return {
    check: (request) => {
      const key = digestText(`${digestText(request.declarationText)}\n${request.script}`);
      const next = turn.then(async () => {
        const known = results.get(key);
        if (known) return known;
        const result = await checkNow(request);
        results.set(key, result);
        if (results.size > RESULTS_MAX) results.delete(results.keys().next().value ?? "");
        return result;
      });
      turn = next.catch(() => {});
      return next;
    },
    close: async () => {
      const running = await child?.catch(() => undefined);
      child = undefined;
      running?.kill("SIGKILL");
    },
  };
}

async function startChild(heapMebibytes: number): Promise<ChildProcess> {
  const child = fork(join(import.meta.dirname, "check-process.ts"), {
    execArgv: [`--max-old-space-size=${heapMebibytes}`, "--disable-warning=ExperimentalWarning"],
    // It needs no secret of this process, and a crash dump of V8 is no log line.
    env: {},
    stdio: ["ignore", "ignore", "ignore", "ipc"],
  });
  // A checker that idles must not keep its parent alive.
  child.unref();
  child.channel?.unref();
  await answer(child, START_TIMEOUT_MS, "the type-checker did not start");
  return child;
}

async function ask(child: ChildProcess, request: CheckRequest, timeoutMs: number): Promise<CheckResult | undefined> {
  try {
    const answered = answer(child, timeoutMs, "");
    child.send(request);
    return (await answered) as CheckResult;
  } catch {
    child.kill("SIGKILL");
    return undefined;
  }
}

/** The child's next message. @throws Error when it ends or takes too long */
function answer(child: ChildProcess, timeoutMs: number, failure: string): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const settle = (done: () => void) => () => {
      clearTimeout(timer);
      child.off("message", onMessage).off("exit", onEnd).off("error", onEnd);
      child.channel?.unref();
      done();
    };
    const onMessage = (message: unknown) => settle(() => resolve(message))();
    const onEnd = () => settle(() => reject(new Error(failure || "the type-checker ended")))();
    const timer = setTimeout(onEnd, timeoutMs);
    // While an answer is awaited the process must stay alive for it.
    child.channel?.ref();
    child.on("message", onMessage).on("exit", onEnd).on("error", onEnd);
  });
}
