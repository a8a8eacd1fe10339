/** What scripts find besides ECMAScript's own globals, as declarations for the type-checker. */
export const globalsDeclaration = `
interface Console {
  debug(...values: unknown[]): void;
  log(...values: unknown[]): void;
  info(...values: unknown[]): void;
  warn(...values: unknown[]): void;
  error(...values: unknown[]): void;
}
declare const console: Console;
declare const crypto: { randomUUID(): string };
`;
