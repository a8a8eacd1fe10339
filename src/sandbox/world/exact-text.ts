import { brandOf } from "./brands.ts";
import {
  BigIntOf,
  dateToIso,
  dateValue,
  getPrototypeOf,
  isArray,
  isFiniteNumber,
  isWellFormed,
  jsonParse,
  objectKeys,
  objectPrototype,
  quote,
  StringOf,
  slice,
  startsWith,
} from "./primordials.ts";

/** Nesting beyond this is refused: every JSON reader on the way recurses. */
const DEPTH_MAX = 1_000;

/** Where a value stands: a chain up to the root, so that a path is only built when there is a fault to report. */
interface Place {
  readonly above: Place | undefined;
  readonly key: string;
  readonly object: object;
  readonly depth: number;
}

/** Why a value is not JSON, and where: `path` is a JSON pointer, empty for the whole value (semantics 3.8). */
export class NotJson {
  readonly path: string;
  readonly what: string;
  constructor(path: string, what: string) {
    this.path = path;
    this.what = what;
  }
}

/**
 * A value as exact JSON text: bigints with their digits, dates as ISO strings, undefined properties left out, `toJSON` honoured.
 * @throws NotJson for whatever JSON cannot hold unchanged.
 */
export function writeExact(value: unknown): string {
  return write(value, undefined, "");
}

function write(given: unknown, above: Place | undefined, key: string): string {
  let value = given;
  if (value !== null && typeof value === "object") value = unwrap(value, above, key);
  switch (typeof value) {
    case "string":
      if (!isWellFormed(value)) throw fault("a lone surrogate", above, key);
      return quote(value);
    case "number":
      if (!isFiniteNumber(value)) throw fault(StringOf(value), above, key);
      return quote(value as never);
    case "boolean":
      return value ? "true" : "false";
    case "bigint":
      return StringOf(value);
    case "object":
      return value === null ? "null" : writeObject(value, above, key);
    default:
      throw fault(typeof value === "undefined" ? "undefined" : `a ${typeof value}`, above, key);
  }
}

/** Applies `toJSON`, opens boxed primitives and dates, and refuses the built-ins that JSON would flatten to `{}`. */
function unwrap(value: object, above: Place | undefined, key: string): unknown {
  const prototype = getPrototypeOf(value);
  const plain = prototype === objectPrototype || prototype === null || isArray(value);
  const brand = plain ? undefined : brandOf(value);
  if (brand === "Date") {
    if (!isFiniteNumber(dateValue(value as Date))) throw fault("an invalid Date", above, key);
    return dateToIso(value as Date);
  }
  const toJson = (value as { toJSON?: unknown }).toJSON;
  if (typeof toJson === "function") return (value as { toJSON(name: string): unknown }).toJSON(key);
  if (brand === "Number" || brand === "String" || brand === "Boolean" || brand === "BigInt") return value.valueOf();
  if (brand !== undefined) throw fault(`a ${brand}`, above, key);
  return value;
}

function writeObject(object: object, above: Place | undefined, key: string): string {
  const place = { above, key, object, depth: above === undefined ? 1 : above.depth + 1 };
  if (place.depth > DEPTH_MAX) throw fault(`nested deeper than ${DEPTH_MAX} levels`, above, key);
  for (let outer = above; outer !== undefined; outer = outer.above) {
    if (outer.object === object) throw fault("a cycle", above, key);
  }
  return isArray(object) ? writeArray(object as readonly unknown[], place) : writeMembers(object, place);
}

function writeArray(array: readonly unknown[], place: Place): string {
  const count = array.length;
  let text = "[";
  for (let index = 0; index < count; index += 1) {
    if (index > 0) text += ",";
    text += write(array[index], place, StringOf(index));
  }
  return `${text}]`;
}

function writeMembers(object: object, place: Place): string {
  const names = objectKeys(object);
  let text = "{";
  for (let index = 0; index < names.length; index += 1) {
    const name = names[index] as string;
    const member = (object as Record<string, unknown>)[name];
    if (member === undefined) continue;
    if (!isWellFormed(name)) throw fault("a lone surrogate in a property's name", place, name);
    if (text.length > 1) text += ",";
    text += `${quote(name)}:`;
    text += write(member, place, name);
  }
  return `${text}}`;
}

function fault(what: string, above: Place | undefined, key: string): NotJson {
  let path = "";
  let name = key;
  for (let place = above; place !== undefined; place = place.above) {
    path = `/${escapePointer(name)}${path}`;
    name = place.key;
  }
  return new NotJson(path, what);
}

function escapePointer(name: string): string {
  let escaped = "";
  for (let index = 0; index < name.length; index += 1) {
    const letter = name[index] as string;
    escaped += letter === "~" ? "~0" : letter === "/" ? "~1" : letter;
  }
  return escaped;
}

/**
 * A value from JSON text. `mark`, if given, is the prefix of the strings that stand for integers which no double holds
 * (the machine outside chose one that occurs nowhere else in the text).
 */
export function readExact(text: string, mark: string | undefined): unknown {
  const value = jsonParse(text);
  return mark === undefined ? value : restoreIntegers(value, mark);
}

function restoreIntegers(value: unknown, mark: string): unknown {
  if (typeof value === "string") return startsWith(value, mark) ? BigIntOf(slice(value, mark.length)) : value;
  if (value === null || typeof value !== "object") return value;
  const names = objectKeys(value);
  for (let index = 0; index < names.length; index += 1) {
    const name = names[index] as string;
    // The member is an own property, so neither a setter on a prototype nor the name `__proto__` matters here.
    const members = value as Record<string, unknown>;
    members[name] = restoreIntegers(members[name], mark);
  }
  return value;
}
