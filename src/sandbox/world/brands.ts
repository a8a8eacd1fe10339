import { getPrototypeOf, getterOf, isArray, methodOf, WeakMapOf } from "./primordials.ts";

type Probe = (value: unknown) => unknown;

/** A probe throws for everything that is not of its kind. No script can change what it sees, as the prototype is not asked. */
const probes: readonly (readonly [string, Probe])[] = [
  ["Date", methodOf(Date.prototype, "getTime")],
  ["Map", getterOf(Map.prototype, "size")],
  ["Set", getterOf(Set.prototype, "size")],
  ["WeakMap", bindKey(WeakMapOf.prototype)],
  ["WeakSet", bindKey(WeakSet.prototype)],
  ["typed array", typedArrayProbe(getterOf(getPrototypeOf(Uint8Array.prototype) as object, Symbol.toStringTag))],
  ["ArrayBuffer", getterOf(ArrayBuffer.prototype, "byteLength")],
  ["DataView", getterOf(DataView.prototype, "byteLength")],
  ["RegExp", regExpProbe(getterOf(RegExp.prototype, "global"))],
  ["Number", methodOf(Number.prototype, "valueOf")],
  ["String", methodOf(String.prototype, "valueOf")],
  ["Boolean", methodOf(Boolean.prototype, "valueOf")],
  ["BigInt", methodOf(BigInt.prototype, "valueOf")],
  ["Symbol", methodOf(Symbol.prototype, "valueOf")],
];
const { prototype: promisePrototype } = Promise;
const { prototype: errorPrototype } = Error;
const hasInChain = methodOf(Object.prototype, "isPrototypeOf");

/** What kind of built-in object this is (`Map`, `Date`, `Promise` …); undefined for arrays and ordinary objects. */
export function brandOf(value: object): string | undefined {
  if (isArray(value)) return undefined;
  for (let index = 0; index < probes.length; index += 1) {
    const entry = probes[index] as readonly [string, Probe];
    try {
      entry[1](value);
      return entry[0];
    } catch {
      // Of another kind: the next probe decides.
    }
  }
  if (hasInChain(promisePrototype, value)) return "Promise";
  if (hasInChain(errorPrototype, value)) return "Error";
  return undefined;
}

const key = {};
function bindKey(prototype: object): Probe {
  const has = methodOf(prototype, "has");
  return (value) => has(value, key);
}

function typedArrayProbe(tag: Probe): Probe {
  return (value) => {
    if (tag(value) === undefined) throw undefined;
  };
}

/** The getter answers undefined for the prototype itself, and throws for all that is no RegExp. */
function regExpProbe(global: Probe): Probe {
  return (value) => {
    if (global(value) === undefined) throw undefined;
  };
}
