import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { CheckRequest, CheckResult } from "./check-result.ts";

export interface CheckProcessOptions {
  readonly timeLimitMs: number;
  readonly memoryMebibytes: number;
  readonly idleAfterMs: number;
}

/** Loading the compiler takes half a second on an idle machine; this is for a very busy one. */
const START_TIME_LIMIT_MS = 60_000;
/** How often a check is tried again when its process was ended from outside (by the kernel, by hand). */
const TRIES_MAX = 2;

type Ended = { readonly kind: "ended"; readonly code: number | null; readonly signal: NodeJS.Signals | null };
type Answer = { readonly kind: "answer"; readonly result: CheckResult } | { readonly kind: "timeUp" } | Ended;

/**
 * The process in which scripts are checked. The types of a hostile script cost seconds and a gigabyte, and no limit inside
 * the compiler ends that, so it runs where it can be killed and where its memory is bounded. It gets no environment
 * and no files: the compiler's own library and the text of the request are all it reads.
 */
export class CheckProcess {
  readonly #options: CheckProcessOptions;
  #child: ChildProcess | undefined;
  #last: Promise<unknown> = Promise.resolve();
  #idleTimer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(options: CheckProcessOptions) {
    this.#options = options;
  }

  /** Checks one script after those asked for before it. */
  check(request: CheckRequest): Promise<CheckResult> {
    const result = this.#last.then(() => this.#checkNow(request));
    this.#last = result.catch(() => undefined);
    return result;
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#kill();
  }

  async #checkNow(request: CheckRequest): Promise<CheckResult> {
    clearTimeout(this.#idleTimer);
    try {
      for (let attempt = 1; ; attempt++) {
        const answer = await this.#ask(request);
        if (answer.kind === "answer") return answer.result;
        await this.#kill();
        if (answer.kind === "timeUp") return tooComplex(`took longer than ${this.#options.timeLimitMs / 1000} s`);
        if (isOutOfMemory(answer)) return tooComplex(`needed more than ${this.#options.memoryMebibytes} MiB`);
        if (attempt === TRIES_MAX) return tooComplex("ended the checking process");
      }
    } finally {
      this.#idleTimer = setTimeout(() => void this.#kill(), this.#options.idleAfterMs).unref();
    }
  }

  async #ask(request: CheckRequest): Promise<Answer> {
    const child = this.#child ?? (await this.#start());
    hold(child);
    const answer = exchange(child, this.#options.timeLimitMs);
    // A process that has just ended refuses the message; its end is the answer then.
    child.send(request, () => undefined);
    const got = await answer;
    release(child);
    return got;
  }

  async #start(): Promise<ChildProcess> {
    if (this.#closed) throw new Error("the script checker is closed");
    const child = fork(fileURLToPath(new URL("./check-child.ts", import.meta.url)), {
      execArgv: [`--max-old-space-size=${this.#options.memoryMebibytes}`, "--disable-warning=ExperimentalWarning"],
      env: {},
      stdio: ["ignore", "ignore", "ignore", "ipc"],
      serialization: "advanced",
    });
    this.#child = child;
    const ready = await exchange(child, START_TIME_LIMIT_MS);
    if (ready.kind === "answer") return child;
    await this.#kill();
    throw new Error(`the script checker's process did not start (${describeEnd(ready)})`);
  }

  async #kill(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.ref();
    child.kill("SIGKILL");
    await ended;
  }
}

/** Waits for the child's next message, its end, or the end of the time. */
function exchange(child: ChildProcess, timeLimitMs: number): Promise<Answer> {
  return new Promise((resolve) => {
    const settle = (answer: Answer) => {
      clearTimeout(timer);
      child.off("message", onMessage);
      child.off("exit", onExit);
      child.off("error", onError);
      resolve(answer);
    };
    const onMessage = (message: unknown) => settle({ kind: "answer", result: message as CheckResult });
    const onExit = (code: number | null, signal: NodeJS.Signals | null) => settle({ kind: "ended", code, signal });
    const onError = () => settle({ kind: "ended", code: child.exitCode, signal: child.signalCode });
    const timer = setTimeout(() => settle({ kind: "timeUp" }), timeLimitMs);
    child.on("message", onMessage);
    child.on("exit", onExit);
    child.on("error", onError);
    if (child.exitCode !== null || child.signalCode !== null) onError();
  });
}

/** While it works the child keeps this process alive; while it idles it does not. */
function hold(child: ChildProcess): void {
  child.ref();
  child.channel?.ref();
}

function release(child: ChildProcess): void {
  child.unref();
  child.channel?.unref();
}

/** Node aborts when its heap is full: SIGABRT, or 134 where a shell stands between. */
function isOutOfMemory(end: Ended): boolean {
  return end.signal === "SIGABRT" || end.signal === "SIGTRAP" || end.signal === "SIGILL" || end.code === 134;
}

function describeEnd(end: Exclude<Answer, { kind: "answer" }>): string {
  return end.kind === "timeUp" ? "no answer in time" : `exit code ${end.code}, signal ${end.signal}`;
}

function tooComplex(cause: string): CheckResult {
  const text = `checking the script's types ${cause}`;
  const hint = "Simplify the types: no deep recursion, no large unions built from one another.";
  return { ok: false, code: "ScriptCheckTooComplex", diagnostics: [{ line: 1, column: 1, text, source: "", hint }] };
}
