import { RE2JS } from "re2js";

/** A pattern that runs in linear time. */
export interface SafePattern {
  test(text: string): boolean;
}

/** Longest pattern that is compiled: real servers stay below a hundred characters, and compiled size grows with length. */
const PATTERN_LENGTH_MAX = 2_000;

/** Anchors of Python and Ruby. JavaScript reads them as the letters A, Z and z, which no author of one ever meant. */
const FOREIGN_ANCHOR = /(?<!\\)(?:\\\\)*\\[AZz]/;

/**
 * Compiles a schema's `pattern` for the linear engine: read as JavaScript with the u flag, then without it (semantics 1.5,
 * case a03), then as the engine's own syntax, which knows the inline flags of other languages.
 * @returns undefined when no safe engine takes it; it is then not enforced
 */
export function compileSafePattern(pattern: string): SafePattern | undefined {
  if (pattern.length > PATTERN_LENGTH_MAX || FOREIGN_ANCHOR.test(pattern)) return undefined;
  for (const source of readings(pattern)) {
    try {
      const compiled = RE2JS.compile(source);
      return { test: (text) => compiled.matcher(text).find() };
    } catch {
      // Look-around, back references and huge repeats: the next reading may still be safe.
    }
  }
  return undefined;
}

function readings(pattern: string): string[] {
  for (const flags of ["u", ""]) {
    try {
      return [RE2JS.translateRegExp(new RegExp(pattern, flags).source), pattern];
    } catch {
      // Not valid under these flags.
    }
  }
  return [pattern];
}
