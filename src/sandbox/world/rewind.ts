import { clock, dateMs } from "./clock.ts";
import { issueSignal, issueSleep, refuse } from "./commands.ts";
import { charCodeAt, isFiniteNumber, isNaNumber, isWellFormed, slice } from "./primordials.ts";

/** A hundred years, as for every duration of Holdpoint. */
const DURATION_MS_MAX = 100 * 365 * 86_400_000;
const SIGNAL_NAME_LENGTH_MAX = 253;

/** Waits for a duration: milliseconds as a number, or a text such as `90s`, `1h30m` or `40d`. */
export function sleep(duration: unknown): Promise<unknown> {
  const waitMs = durationMs(duration);
  if (waitMs === undefined) return refuse("sleep", `${expected} for sleep`, "");
  return issueSleep(clock.nowMs + waitMs);
}

/** Waits until a date: a Date, its text, or milliseconds since the epoch. One that is past ends the wait at once. */
export function sleepUntil(date: unknown): Promise<unknown> {
  const untilMs = dateMs(date);
  if (isNaNumber(untilMs)) return refuse("sleepUntil", "a valid date is expected for sleepUntil", "");
  return issueSleep(untilMs);
}

/** The oldest unread payload of a signal; undefined when none came within `timeout`. */
export function signal(name: unknown, options?: { timeout?: unknown }): Promise<unknown> {
  if (typeof name !== "string" || name === "" || name.length > SIGNAL_NAME_LENGTH_MAX || !isWellFormed(name)) {
    return refuse("signal", `a name of 1 to ${SIGNAL_NAME_LENGTH_MAX} characters is expected for signal`, "/name");
  }
  const timeout = options?.timeout;
  if (timeout === undefined) return issueSignal(name, undefined);
  const timeoutMs = durationMs(timeout);
  if (timeoutMs === undefined) return refuse("signal", `${expected} for timeout`, "/timeout");
  return issueSignal(name, timeoutMs);
}

const expected =
  "a duration such as 90s, 1h30m, 500ms or 40d, or a number of milliseconds, at most 100 years, is expected";

/** Milliseconds of a duration; undefined when it is none, negative, or longer than a hundred years (semantics 3.11). */
function durationMs(given: unknown): number | undefined {
  const value = typeof given === "number" ? given : typeof given === "string" ? parseDuration(given) : Number.NaN;
  return isFiniteNumber(value) && value >= 0 && value <= DURATION_MS_MAX ? value : undefined;
}

function parseDuration(text: string): number {
  let totalMs = 0;
  let at = 0;
  if (text === "") return Number.NaN;
  while (at < text.length) {
    const from = at;
    let count = 0;
    for (; at < text.length; at += 1) {
      const digit = charCodeAt(text, at) - 48;
      if (!(digit >= 0 && digit <= 9)) break;
      count = count * 10 + digit;
    }
    const unit = slice(text, at, at + 2) === "ms" ? "ms" : slice(text, at, at + 1);
    if (at === from) return Number.NaN;
    totalMs += count * unitMs(unit);
    at += unit.length;
  }
  return totalMs;
}

function unitMs(unit: string): number {
  switch (unit) {
    case "ms":
      return 1;
    case "s":
      return 1_000;
    case "m":
      return 60_000;
    case "h":
      return 3_600_000;
    case "d":
      return 86_400_000;
    default:
      return Number.NaN;
  }
}
