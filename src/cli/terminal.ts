import pc from "picocolors";

/** Where a command writes, and how. */
export interface Terminal {
  /** One line to standard output. */
  print(line: string): void;
  /** One line to standard error. */
  complain(line: string): void;
  readonly colors: ReturnType<typeof pc.createColors>;
}

/** The process's own streams; colours only on a terminal, and never with NO_COLOR. */
export function processTerminal(): Terminal {
  return {
    print: (line) => void process.stdout.write(`${line}\n`),
    complain: (line) => void process.stderr.write(`${line}\n`),
    colors: pc.createColors(pc.isColorSupported && process.stdout.isTTY === true),
  };
}

/** Columns padded to their widest cell, two spaces between. @param rows the first is the heading */
export function table(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => (row[column] ?? "").length)));
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd(),
  );
}
