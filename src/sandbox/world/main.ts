import { brandOf } from "./brands.ts";
import { installChance, seedChance } from "./chance.ts";
import { clock, installDate } from "./clock.ts";
import { deliver, toolGroup } from "./commands.ts";
import { installConsole } from "./console.ts";
import { NotJson, readExact, writeExact } from "./exact-text.ts";
import { describeFailure, describeUnhandled } from "./failure.ts";
import { host } from "./host.ts";
import { installLocale } from "./locale.ts";
import { defineProperty, freeze, isFiniteNumber, jsonParse, PromiseOf, promiseThen, quote } from "./primordials.ts";
import { signal, sleep, sleepUntil } from "./rewind.ts";
import { installTextCoding } from "./text-coding.ts";
import { ToolError } from "./tool-error.ts";

export { signal, sleep, sleepUntil, ToolError, toolGroup };

/** What module "rewind" tells a script about its run. Filled in before the script starts. */
export const run: object = {};

interface Settings {
  readonly runId: string;
  readonly toolset: { readonly name: string; readonly digest: string };
  readonly startedAtMs: number;
  readonly seedWords: readonly number[];
  readonly mark?: string;
}

let input: unknown;

/** Makes this world one run's: called once, before the script is evaluated. */
function configure(settingsText: string, inputText: string | undefined): void {
  const settings = jsonParse(settingsText) as Settings;
  clock.nowMs = isFiniteNumber(settings.startedAtMs) ? settings.startedAtMs : 0;
  seedChance(settings.seedWords);
  input = inputText === undefined ? undefined : readExact(inputText, settings.mark);
  defineProperty(run, "id", { value: settings.runId, enumerable: true });
  defineProperty(run, "toolset", { value: freeze(settings.toolset), enumerable: true });
  defineProperty(run, "input", { value: input, enumerable: true });
  freeze(run);
}

/** Takes the evaluated module (its namespace, or the promise of it) and calls its default export (semantics 3.1). */
function begin(evaluated: unknown): void {
  settle(evaluated, (namespace) => {
    const exported = namespace as { default?: unknown; result?: unknown };
    const main = exported.default;
    settle(typeof main === "function" ? main(input) : exported.result, finish);
  });
}

/** Goes on with a value, or with what its promise brings. Another thenable passes through the language's own resolution. */
function settle(value: unknown, next: (value: unknown) => void): void {
  const isPromise = typeof value === "object" && value !== null && brandOf(value) === "Promise";
  const promise = isPromise ? (value as Promise<unknown>) : new PromiseOf((resolve) => resolve(value));
  promiseThen(promiseThen(promise, next), undefined, fail);
}

function finish(value: unknown): void {
  try {
    host.ended("returned", value === undefined ? "" : writeExact(value));
  } catch (error) {
    if (error instanceof NotJson) {
      const where = error.path === "" ? "the result" : error.path;
      const message = `${where}: ${error.what} is not JSON`;
      host.ended("failed", `{"code":"ResultNotSerializable","message":${quote(message)}}`);
    } else fail(error);
  }
}

function fail(error: unknown): void {
  host.ended("failed", describeFailure(error));
}

installDate();
installChance();
installLocale();
installConsole();
installTextCoding();
for (const name of ["SharedArrayBuffer", "Atomics", "WeakRef", "FinalizationRegistry", "performance"]) {
  delete (globalThis as unknown as Record<string, unknown>)[name];
}
(globalThis as unknown as { holdpointWorld: object }).holdpointWorld = {
  configure,
  begin,
  deliver,
  fail,
  describeUnhandled,
};
