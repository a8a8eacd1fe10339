import pc from "picocolors";

/** What `holdpoint dev` says while it works: lines on standard error, in colour only on a terminal without NO_COLOR. */
export interface Voice {
  say(line: string): void;
  readonly colors: ReturnType<typeof pc.createColors>;
}

export function standardErrorVoice(): Voice {
  return {
    say: (line) => void process.stderr.write(`${line}\n`),
    colors: pc.createColors(pc.isColorSupported && process.stderr.isTTY === true),
  };
}
