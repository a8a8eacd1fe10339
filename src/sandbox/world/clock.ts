import { apply, construct, defineProperty, isFiniteNumber, NativeDate, StringOf } from "./primordials.ts";

/** The script's time: that of its last delivery, in milliseconds since the epoch. It stands still within a turn. */
export const clock = { nowMs: 0 };

/** `Date` as the language defines it, except that it reads the script's time. */
function DateOfScript(this: unknown, ...args: unknown[]): unknown {
  if (new.target === undefined) return StringOf(new NativeDate(clock.nowMs));
  return construct(NativeDate, args.length === 0 ? [clock.nowMs] : args, new.target);
}

/** Puts the script's `Date` in place of the machine's. */
export function installDate(): void {
  const { prototype, parse, UTC } = NativeDate;
  const method = (name: string, value: unknown) =>
    defineProperty(DateOfScript, name, { value, writable: true, configurable: true });
  defineProperty(DateOfScript, "prototype", { value: prototype, writable: false });
  defineProperty(DateOfScript, "name", { value: "Date", configurable: true });
  defineProperty(DateOfScript, "length", { value: 7, configurable: true });
  method("now", () => clock.nowMs);
  method("parse", parse);
  method("UTC", UTC);
  defineProperty(prototype, "constructor", { value: DateOfScript, writable: true, configurable: true });
  defineProperty(globalThis, "Date", { value: DateOfScript, writable: true, configurable: true });
}

/** Milliseconds since the epoch of what a script gives as a date; NaN when it is none. */
export function dateMs(given: unknown): number {
  if (typeof given !== "string" && typeof given !== "number" && !(given instanceof NativeDate)) return Number.NaN;
  const value = apply(NativeDate.prototype.getTime, construct(NativeDate, [given]), []) as number;
  return isFiniteNumber(value) ? value : Number.NaN;
}
