import { host } from "./host.ts";
import { describe } from "./inspect.ts";
import { defineProperty, quote } from "./primordials.ts";

const LEVELS = ["debug", "log", "info", "warn", "error"] as const;

/** The script's console: each line goes to the run's record. Arguments are joined by a space, strings as they are. */
export function installConsole(): void {
  const console = {};
  for (let index = 0; index < LEVELS.length; index += 1) {
    const level = LEVELS[index] as string;
    const value = (...args: unknown[]): void => {
      let text = "";
      for (let at = 0; at < args.length; at += 1) text += (at > 0 ? " " : "") + describe(args[at]);
      host.print(level, quote(text));
    };
    defineProperty(value, "name", { value: level });
    defineProperty(console, level, { value, enumerable: true, writable: true, configurable: true });
  }
  defineProperty(globalThis, "console", { value: console, writable: true, configurable: true });
}
