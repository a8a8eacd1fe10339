import { brandOf } from "./brands.ts";
import {
  dateToIso,
  dateValue,
  getOwnPropertyDescriptor,
  isArray,
  isFiniteNumber,
  methodOf,
  objectKeys,
  quote,
  StringOf,
  slice,
  symbolToString,
} from "./primordials.ts";

const DEPTH_MAX = 4;
const ITEMS_MAX = 100;
const TEXT_LENGTH_MAX = 1_048_576;
const mapForEach = methodOf(Map.prototype, "forEach");
const setForEach = methodOf(Set.prototype, "forEach");

/** A value as people read it on the console: deterministic, bounded in depth and size, without running any code of the script. */
export function describe(value: unknown): string {
  if (typeof value === "string") return cut(value);
  try {
    return cut(inspect(value, 0));
  } catch {
    return "[unreadable]";
  }
}

function cut(text: string): string {
  return text.length <= TEXT_LENGTH_MAX ? text : `${slice(text, 0, TEXT_LENGTH_MAX)}…`;
}

function inspect(value: unknown, depth: number): string {
  switch (typeof value) {
    case "string":
      return quote(cut(value));
    case "bigint":
      return `${StringOf(value)}n`;
    case "symbol":
      return symbolToString(value);
    case "function":
      return `[function ${ownText(value, "name") || "anonymous"}]`;
    case "object":
      return value === null ? "null" : inspectObject(value, depth);
    case "number":
      return value === 0 && 1 / value < 0 ? "-0" : StringOf(value);
    default:
      return StringOf(value);
  }
}

function inspectObject(value: object, depth: number): string {
  const brand = brandOf(value);
  if (brand === "Date") {
    return isFiniteNumber(dateValue(value as Date)) ? dateToIso(value as Date) : "Invalid Date";
  }
  if (brand === "Error") return inspectError(value);
  if (depth >= DEPTH_MAX) return isArray(value) ? "[…]" : `${brand ?? ""}{…}`;
  if (isArray(value)) return inspectItems(value as readonly unknown[], depth);
  if (brand === "Map" || brand === "Set") return inspectCollection(value, brand, depth);
  return (brand === undefined ? "" : `${brand} `) + inspectMembers(value, depth);
}

function inspectError(value: object): string {
  const name = ownText(value, "name") || inheritedName(value);
  const message = ownText(value, "message");
  return message === "" ? name : `${name}: ${message}`;
}

function inheritedName(value: object): string {
  const name = (value as { name?: unknown }).name;
  return typeof name === "string" ? name : "Error";
}

function ownText(value: object, name: string): string {
  const found = getOwnPropertyDescriptor(value, name)?.value as unknown;
  return typeof found === "string" ? found : "";
}

function inspectItems(items: readonly unknown[], depth: number): string {
  const count = items.length;
  let text = "[";
  for (let index = 0; index < count && index < ITEMS_MAX; index += 1) {
    text += (index > 0 ? ", " : "") + inspect(items[index], depth + 1);
  }
  return count > ITEMS_MAX ? `${text}, … ${count - ITEMS_MAX} more]` : `${text}]`;
}

function inspectCollection(value: object, brand: "Map" | "Set", depth: number): string {
  let text = "";
  let count = 0;
  const visit = (item: unknown, key: unknown): void => {
    count += 1;
    if (count > ITEMS_MAX) return;
    const left = brand === "Map" ? `${inspect(key, depth + 1)} => ` : "";
    text += (count > 1 ? ", " : "") + left + inspect(item, depth + 1);
  };
  if (brand === "Map") mapForEach(value, visit);
  else setForEach(value, visit);
  const more = count > ITEMS_MAX ? `, … ${count - ITEMS_MAX} more` : "";
  return `${brand}(${count}) {${text}${more}}`;
}

function inspectMembers(value: object, depth: number): string {
  const names = objectKeys(value);
  let text = "";
  for (let index = 0; index < names.length && index < ITEMS_MAX; index += 1) {
    const name = names[index] as string;
    const descriptor = getOwnPropertyDescriptor(value, name);
    const member =
      descriptor !== undefined && "value" in descriptor ? inspect(descriptor.value, depth + 1) : "[getter]";
    text += `${index > 0 ? ", " : ""}${quote(name)}: ${member}`;
  }
  if (names.length === 0) return "{}";
  return names.length > ITEMS_MAX ? `{ ${text}, … ${names.length - ITEMS_MAX} more }` : `{ ${text} }`;
}
