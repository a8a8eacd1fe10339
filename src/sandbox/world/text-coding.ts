import {
  Bytes,
  charCodeAt,
  defineProperty,
  fromCharCode,
  PromiseOf,
  promiseThen,
  RangeErrorOf,
  StringOf,
  TypeErrorOf,
} from "./primordials.ts";

/** UTF-8 bytes of a text; a lone surrogate becomes U+FFFD, as the Encoding standard says. */
function encodeUtf8(text: string): Uint8Array {
  const bytes = new Bytes(text.length * 3);
  let length = 0;
  for (let index = 0; index < text.length; index += 1) {
    let code = charCodeAt(text, index);
    if (code >= 0xd800 && code <= 0xdfff) {
      const low = code <= 0xdbff && index + 1 < text.length ? charCodeAt(text, index + 1) : 0;
      if (low >= 0xdc00 && low <= 0xdfff) {
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
        index += 1;
      } else code = 0xfffd;
    }
    if (code < 0x80) bytes[length++] = code;
    else if (code < 0x800) {
      bytes[length++] = 0xc0 | (code >> 6);
      bytes[length++] = 0x80 | (code & 63);
    } else if (code < 0x10000) {
      bytes[length++] = 0xe0 | (code >> 12);
      bytes[length++] = 0x80 | ((code >> 6) & 63);
      bytes[length++] = 0x80 | (code & 63);
    } else {
      bytes[length++] = 0xf0 | (code >> 18);
      bytes[length++] = 0x80 | ((code >> 12) & 63);
      bytes[length++] = 0x80 | ((code >> 6) & 63);
      bytes[length++] = 0x80 | (code & 63);
    }
  }
  return bytes.slice(0, length);
}

/** How many bytes follow a first byte, the bits it gives, and the smallest code point that needs so many; none for a wrong one. */
function sequence(first: number): readonly [number, number, number] | undefined {
  if (first >= 0xc2 && first <= 0xdf) return [1, first & 31, 0x80];
  if (first >= 0xe0 && first <= 0xef) return [2, first & 15, 0x800];
  if (first >= 0xf0 && first <= 0xf4) return [3, first & 7, 0x10000];
  return undefined;
}

function decodeUtf8(bytes: Uint8Array, fatal: boolean): string {
  let text = "";
  let at = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0;
  while (at < bytes.length) {
    const first = bytes[at++] as number;
    if (first < 0x80) {
      text += fromCharCode(first);
      continue;
    }
    const found = sequence(first);
    let code = found === undefined ? -1 : found[1];
    for (let rest = found === undefined ? 0 : found[0]; rest > 0 && code >= 0; rest -= 1) {
      const next = bytes[at] ?? 0;
      const whole = (code << 6) | (next & 63);
      const surrogate = found?.[2] === 0x800 && rest === 2 && code === 13 && next > 0x9f;
      const overlong = rest === found?.[0] && whole << (6 * (rest - 1)) < (found?.[2] ?? 0);
      const beyond = rest === 3 && whole > 0x10f;
      if ((next & 0xc0) !== 0x80 || surrogate || overlong || beyond) code = -1;
      else {
        code = whole;
        at += 1;
      }
    }
    if (code < 0 && fatal) throw new TypeErrorOf("the bytes are not UTF-8");
    text += codePoint(code < 0 ? 0xfffd : code);
  }
  return text;
}

function codePoint(code: number): string {
  if (code < 0x10000) return fromCharCode(code);
  return fromCharCode(0xd800 + ((code - 0x10000) >> 10), 0xdc00 + ((code - 0x10000) & 0x3ff));
}

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/** Base64 of a text whose characters are bytes. */
function btoa(given: unknown): string {
  const text = StringOf(given);
  let encoded = "";
  for (let index = 0; index < text.length; index += 3) {
    const left = text.length - index;
    let bits = 0;
    for (let at = 0; at < 3; at += 1) {
      const code = at < left ? charCodeAt(text, index + at) : 0;
      if (code > 255) throw new RangeErrorOf("btoa takes characters up to U+00FF only");
      bits = (bits << 8) | code;
    }
    encoded += (ALPHABET[bits >> 18] as string) + ALPHABET[(bits >> 12) & 63];
    encoded += left > 1 ? ALPHABET[(bits >> 6) & 63] : "=";
    encoded += left > 2 ? ALPHABET[bits & 63] : "=";
  }
  return encoded;
}

/** The bytes of a Base64 text, each as a character. */
function atob(given: unknown): string {
  const text = StringOf(given);
  let decoded = "";
  let bits = 0;
  let count = 0;
  let padding = 0;
  for (let index = 0; index < text.length; index += 1) {
    const letter = text[index] as string;
    if (letter === " " || letter === "\n" || letter === "\t" || letter === "\r" || letter === "\f") continue;
    if (letter === "=") {
      padding += 1;
      continue;
    }
    const value = sextet(charCodeAt(text, index));
    if (value < 0 || padding > 0) throw new RangeErrorOf("atob takes Base64 only");
    bits = ((bits << 6) | value) & 0xffffff;
    count += 1;
    if (count % 4 !== 1) decoded += fromCharCode((bits >> ((3 - ((count - 1) % 4)) * 2)) & 255);
  }
  const complete = padding === 0 || (padding <= 2 && (count + padding) % 4 === 0);
  if (count % 4 === 1 || !complete) throw new RangeErrorOf("atob takes Base64 only");
  return decoded;
}

function sextet(code: number): number {
  if (code >= 65 && code <= 90) return code - 65;
  if (code >= 97 && code <= 122) return code - 71;
  if (code >= 48 && code <= 57) return code + 4;
  return code === 43 ? 62 : code === 47 ? 63 : -1;
}

class TextEncoder {
  readonly encoding = "utf-8";
  encode(text: unknown = ""): Uint8Array {
    return encodeUtf8(StringOf(text));
  }
}

class TextDecoder {
  readonly encoding = "utf-8";
  readonly fatal: boolean;
  constructor(label: unknown = "utf-8", options?: { fatal?: boolean }) {
    if (label !== "utf-8" && label !== "utf8" && label !== "UTF-8")
      throw new RangeErrorOf("TextDecoder knows utf-8 only");
    this.fatal = options?.fatal === true;
  }
  decode(bytes?: ArrayBuffer | ArrayBufferView): string {
    if (bytes === undefined) return "";
    const view = bytes as ArrayBufferView;
    const whole =
      view.buffer === undefined
        ? new Bytes(bytes as ArrayBuffer)
        : new Bytes(view.buffer as ArrayBuffer, view.byteOffset, view.byteLength);
    return decodeUtf8(whole, this.fatal);
  }
}

function queueMicrotask(task: unknown): void {
  if (typeof task !== "function") throw new TypeErrorOf("queueMicrotask takes a function");
  promiseThen(new PromiseOf<void>((resolve) => resolve()), () => {
    task();
  });
}

/** Puts the few functions for text and bytes that scripts expect, and that need nothing from outside, on the global object. */
export function installTextCoding(): void {
  const values = { TextEncoder, TextDecoder, atob, btoa, queueMicrotask };
  for (const name of ["TextEncoder", "TextDecoder", "atob", "btoa", "queueMicrotask"] as const) {
    defineProperty(globalThis, name, { value: values[name], writable: true, configurable: true });
  }
}
