/** The names that a script finds on its global object besides those of the language. */
export const scriptLibrary = [
  "console",
  "crypto",
  "queueMicrotask",
  "TextEncoder",
  "TextDecoder",
  "atob",
  "btoa",
] as const;

/** Language globals that the world takes away: a type-checker's library must not offer them. */
export const removedGlobals = [
  "Intl",
  "SharedArrayBuffer",
  "Atomics",
  "WeakRef",
  "FinalizationRegistry",
  "performance",
] as const;

/**
 * Declares, on top of TypeScript's library `es2023` (without `dom`), the globals of the script's world: an ambient script
 * file, no module. What the library declares and the world lacks (`Intl` and others of `removedGlobals`) is left to the
 * type-checker, since a declaration cannot take anything away.
 */
export const globalsDeclaration = `
/** Lines are kept with the run and shown by the plugin. */
declare const console: {
  debug(...data: unknown[]): void;
  log(...data: unknown[]): void;
  info(...data: unknown[]): void;
  warn(...data: unknown[]): void;
  error(...data: unknown[]): void;
};
/** Deterministic for each run: replay gives the same values again. */
declare const crypto: {
  randomUUID(): string;
  getRandomValues<T extends Int8Array | Uint8Array | Uint8ClampedArray | Int16Array | Uint16Array | Int32Array | Uint32Array | BigInt64Array | BigUint64Array>(array: T): T;
};
declare function queueMicrotask(task: () => void): void;
declare function atob(base64: string): string;
declare function btoa(bytes: string): string;
declare class TextEncoder {
  readonly encoding: "utf-8";
  encode(text?: string): Uint8Array;
}
declare class TextDecoder {
  constructor(label?: "utf-8" | "utf8" | "UTF-8", options?: { fatal?: boolean });
  readonly encoding: "utf-8";
  readonly fatal: boolean;
  decode(bytes?: ArrayBuffer | ArrayBufferView): string;
}
`;
