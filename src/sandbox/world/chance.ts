import { Bytes, defineProperty, getPrototypeOf, getterOf, imul, TypeErrorOf } from "./primordials.ts";

/** xoshiro128**: the four words are set from the run's seed before the script starts. */
const state = { a: 1, b: 2, c: 3, d: 4 };

/** Sets the generator to the run's seed: four words of 32 bits, not all zero. */
export function seedChance(words: readonly number[]): void {
  state.a = words[0] ?? 1;
  state.b = words[1] ?? 2;
  state.c = words[2] ?? 3;
  state.d = words[3] ?? 4;
}

function rotateLeft(word: number, by: number): number {
  return (word << by) | (word >>> (32 - by));
}

function nextWord(): number {
  const result = imul(rotateLeft(imul(state.b, 5), 7), 9) >>> 0;
  const shifted = state.b << 9;
  state.c ^= state.a;
  state.d ^= state.b;
  state.b ^= state.c;
  state.a ^= state.d;
  state.c ^= shifted;
  state.d = rotateLeft(state.d, 11);
  return result;
}

/** A number in [0, 1) with 53 random bits. */
function random(): number {
  return ((nextWord() >>> 5) * 67_108_864 + (nextWord() >>> 6)) / 9_007_199_254_740_992;
}

const HEX = "0123456789abcdef";

/** A version 4 UUID. */
function randomUUID(): string {
  let text = "";
  for (let digit = 0; digit < 32; digit += 1) {
    if (digit === 8 || digit === 12 || digit === 16 || digit === 20) text += "-";
    const nibble = nextWord() & 15;
    text += HEX[digit === 12 ? 4 : digit === 16 ? 8 | (nibble & 3) : nibble];
  }
  return text;
}

const tagOf = getterOf(getPrototypeOf(Uint8Array.prototype) as object, Symbol.toStringTag);
const byteLengthOf = getterOf(getPrototypeOf(Uint8Array.prototype) as object, "byteLength");
const byteOffsetOf = getterOf(getPrototypeOf(Uint8Array.prototype) as object, "byteOffset");
const bufferOf = getterOf(getPrototypeOf(Uint8Array.prototype) as object, "buffer");

/** Fills a typed array of integers with random bytes and returns it. */
function getRandomValues<T>(array: T): T {
  const tag = tagOf(array);
  if (tag === undefined || tag === "Float16Array" || tag === "Float32Array" || tag === "Float64Array") {
    throw new TypeErrorOf("getRandomValues fills a typed array of integers");
  }
  const bytes = new Bytes(bufferOf(array) as ArrayBuffer, byteOffsetOf(array) as number, byteLengthOf(array) as number);
  for (let index = 0; index < bytes.length; index += 1) bytes[index] = nextWord() & 255;
  return array;
}

/** Puts the run's generator in place of the machine's. */
export function installChance(): void {
  defineProperty(Math, "random", { value: random, writable: true, configurable: true });
  const crypto = {};
  defineProperty(crypto, "randomUUID", { value: randomUUID, enumerable: true });
  defineProperty(crypto, "getRandomValues", { value: getRandomValues, enumerable: true });
  defineProperty(globalThis, "crypto", { value: crypto, writable: true, configurable: true });
}
