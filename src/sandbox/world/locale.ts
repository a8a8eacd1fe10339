import { defineProperty, isFiniteNumber, isNaNumber, methodOf, RangeErrorOf, StringOf, slice } from "./primordials.ts";

/** The one locale of every script is `en-US`, the one time zone UTC, and nothing can be formatted otherwise (semantics 3.3). */
function onlyEnUs(locales: unknown, options: unknown): void {
  if ((locales !== undefined && locales !== "en-US") || options !== undefined) {
    throw new RangeErrorOf("scripts know the locale en-US and the time zone UTC only: leave out locale and options");
  }
}

const toFixed = methodOf(Number.prototype, "toFixed") as (self: number, digits: number) => string;
const getUtc = (name: string) => methodOf(Date.prototype, name) as (self: Date) => number;
const [year, month, day] = [getUtc("getUTCFullYear"), getUtc("getUTCMonth"), getUtc("getUTCDate")];
const [hours, minutes, seconds] = [getUtc("getUTCHours"), getUtc("getUTCMinutes"), getUtc("getUTCSeconds")];
const normalize = methodOf(String.prototype, "normalize") as (self: string, form: string) => string;
const toLowerCase = methodOf(String.prototype, "toLowerCase") as (self: string) => string;
const toUpperCase = methodOf(String.prototype, "toUpperCase") as (self: string) => string;
const numberValue = methodOf(Number.prototype, "valueOf") as (self: unknown) => number;
const bigintValue = methodOf(BigInt.prototype, "valueOf") as (self: unknown) => bigint;

function two(value: number): string {
  return value < 10 ? `0${value}` : StringOf(value);
}

function dateText(date: Date): string {
  return `${month(date) + 1}/${day(date)}/${year(date)}`;
}

function timeText(date: Date): string {
  const hour = hours(date);
  return `${hour % 12 === 0 ? 12 : hour % 12}:${two(minutes(date))}:${two(seconds(date))} ${hour < 12 ? "AM" : "PM"}`;
}

function isValid(date: Date): boolean {
  return isFiniteNumber(year(date));
}

/** Digits in groups of three: `1234567` → `1,234,567`. */
function grouped(digits: string): string {
  let text = "";
  for (let index = 0; index < digits.length; index += 1) {
    if (index > 0 && (digits.length - index) % 3 === 0) text += ",";
    text += digits[index];
  }
  return text;
}

function numberText(value: number): string {
  if (isNaNumber(value)) return "NaN";
  const sign = value < 0 ? "-" : "";
  const size = value < 0 ? -value : value;
  if (!isFiniteNumber(size)) return `${sign}∞`;
  if (size >= 1e21) return sign + grouped(StringOf(BigInt(size)));
  const fixed = toFixed(size, 3);
  let end = fixed.length;
  while (fixed[end - 1] === "0") end -= 1;
  const fraction = slice(fixed, fixed.length - 3, end);
  const whole = grouped(slice(fixed, 0, -4));
  return sign + (fraction === "" ? whole : `${whole}.${fraction}`);
}

/** Letters without accents and case: what an English dictionary sorts by first. */
function baseLetters(text: string): string {
  const decomposed = normalize(toLowerCase(text), "NFD");
  let base = "";
  for (let index = 0; index < decomposed.length; index += 1) {
    const letter = decomposed[index] as string;
    if (letter < "\u0300" || letter > "\u036f") base += letter;
  }
  return base;
}

function order(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}

/** Dictionary order: base letters, then accents, then lower case before upper case. */
function compareText(left: string, right: string): number {
  return (
    order(baseLetters(left), baseLetters(right)) ||
    order(normalize(toLowerCase(left), "NFD"), normalize(toLowerCase(right), "NFD")) ||
    -order(normalize(left, "NFD"), normalize(right, "NFD"))
  );
}

/** Replaces every locale method of the language by one that knows `en-US` and UTC only. */
export function installLocale(): void {
  const install = (prototype: object, name: string, value: (this: never, ...args: never[]) => unknown): void => {
    defineProperty(value, "name", { value: name, configurable: true });
    defineProperty(prototype, name, { value, writable: true, configurable: true });
  };
  const dateMethod = (name: string, format: (date: Date) => string): void =>
    install(Date.prototype, name, function (this: Date, locales?: unknown, options?: unknown) {
      onlyEnUs(locales, options);
      return isValid(this) ? format(this) : "Invalid Date";
    });
  dateMethod("toLocaleDateString", dateText);
  dateMethod("toLocaleTimeString", timeText);
  dateMethod("toLocaleString", (date) => `${dateText(date)}, ${timeText(date)}`);
  install(Number.prototype, "toLocaleString", function (this: unknown, locales?: unknown, options?: unknown) {
    onlyEnUs(locales, options);
    return numberText(numberValue(this));
  });
  install(BigInt.prototype, "toLocaleString", function (this: unknown, locales?: unknown, options?: unknown) {
    onlyEnUs(locales, options);
    const value = bigintValue(this);
    return value < 0n ? `-${grouped(StringOf(-value))}` : grouped(StringOf(value));
  });
  install(
    String.prototype,
    "localeCompare",
    function (this: unknown, other: unknown, locales?: unknown, options?: unknown) {
      onlyEnUs(locales, options);
      return compareText(StringOf(this), StringOf(other));
    },
  );
  install(String.prototype, "toLocaleLowerCase", function (this: unknown, locales?: unknown) {
    onlyEnUs(locales, undefined);
    return toLowerCase(StringOf(this));
  });
  install(String.prototype, "toLocaleUpperCase", function (this: unknown, locales?: unknown) {
    onlyEnUs(locales, undefined);
    return toUpperCase(StringOf(this));
  });
}
