/**
 * The language's own functions as they were before the script ran. The world uses only these, indexed loops and objects
 * without prototype, so that a script which overwrites `JSON`, `Array.prototype` or `Promise.prototype.then` meets only itself.
 */
type Uncurried<F> = F extends (this: infer T, ...args: infer A) => infer R ? (self: T, ...args: A) => R : never;

const { call, bind } = Function.prototype;
const bindCall = call.bind(bind, call) as (method: unknown) => unknown;

function uncurry<F>(method: F): Uncurried<F> {
  return bindCall(method) as Uncurried<F>;
}

export const jsonParse: (text: string) => unknown = JSON.parse;
export const quote: (text: string) => string = JSON.stringify;
export const isArray: (value: unknown) => boolean = Array.isArray;
export const arraySort = uncurry(Array.prototype.sort as (this: string[]) => string[]);
export const {
  create: objectCreate,
  defineProperty,
  freeze,
  getOwnPropertyDescriptor,
  getPrototypeOf,
  keys: objectKeys,
} = Object;
export const { construct, apply, ownKeys } = Reflect;
export const objectPrototype = Object.prototype;
export const StringOf = String;
export const NumberOf = Number;
export const BigIntOf = BigInt;
export const ErrorOf = Error;
export const TypeErrorOf = TypeError;
export const RangeErrorOf = RangeError;
export const NativeDate = Date;
export const PromiseOf = Promise;
export const Bytes = Uint8Array;
export const { isFinite: isFiniteNumber, isNaN: isNaNumber } = Number;
export const { floor, imul } = Math;
export const fromCharCode = String.fromCharCode;
export const indexOf = uncurry(String.prototype.indexOf as (this: string, text: string, from?: number) => number);
export const slice = uncurry(String.prototype.slice as (this: string, from: number, to?: number) => string);
export const startsWith = uncurry(String.prototype.startsWith as (this: string, text: string) => boolean);
export const charCodeAt = uncurry(String.prototype.charCodeAt as (this: string, index: number) => number);
export const isWellFormed = uncurry(String.prototype.isWellFormed as (this: string) => boolean);
export const promiseThen = uncurry(
  Promise.prototype.then as (
    this: Promise<unknown>,
    onFulfilled: ((value: unknown) => unknown) | undefined,
    onRejected?: (reason: unknown) => unknown,
  ) => Promise<unknown>,
);
export const dateToIso = uncurry(Date.prototype.toISOString as (this: Date) => string);
export const dateValue = uncurry(Date.prototype.getTime as (this: Date) => number);
export const weakGet = uncurry(
  WeakMap.prototype.get as (this: WeakMap<object, string>, key: object) => string | undefined,
);
export const weakSet = uncurry(
  WeakMap.prototype.set as (this: WeakMap<object, string>, key: object, value: string) => void,
);
export const WeakMapOf = WeakMap;
export const functionToString = uncurry(Function.prototype.toString as (this: unknown) => string);
export const symbolToString = uncurry(Symbol.prototype.toString as (this: symbol) => string);

/** The getter of an accessor, as a function of its object: it throws for objects of another kind, whatever their prototype. */
export function getterOf(prototype: object, name: PropertyKey): (self: unknown) => unknown {
  return uncurry(getOwnPropertyDescriptor(prototype, name)?.get as (this: unknown) => unknown);
}

/** A method, as a function of its object. */
export function methodOf(prototype: object, name: string): (self: unknown, ...args: unknown[]) => unknown {
  return uncurry((prototype as Record<string, (this: unknown, ...args: unknown[]) => unknown>)[name]) as never;
}
