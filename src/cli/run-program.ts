import { type Command, CommanderError } from "commander";
import { errorCodes } from "../base/errors.ts";
import { visibleLines } from "../base/visible-text.ts";
import { CommandFailed } from "./command-failed.ts";
import { KubeApiError } from "./kube-api.ts";
import type { Terminal } from "./terminal.ts";

const EXIT_FAILED = 1;
const EXIT_USAGE = 2;

/**
 * Runs a plugin's command line and gives its exit code: 0 done, 1 refused or failed (the message of the API server as it
 * is), 2 a command line that cannot be understood.
 * @param argv arguments without the program and the script
 */
export async function runProgram(program: Command, terminal: Terminal, argv: readonly string[]): Promise<number> {
  for (const command of [program, ...program.commands]) command.exitOverride();
  try {
    await program.parseAsync([...argv], { from: "user" });
    return 0;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : EXIT_USAGE;
    explain(terminal, error);
    return EXIT_FAILED;
  }
}

function explain({ complain, colors }: Terminal, error: unknown): void {
  if (!(error instanceof CommandFailed || error instanceof KubeApiError)) {
    complain(`error: ${visibleLines(error instanceof Error ? (error.stack ?? error.message) : String(error))}`);
    return;
  }
  complain(`${colors.red("error")}: ${visibleLines(error.message)}`);
  if (!(error instanceof CommandFailed)) return;
  const help = error.help ?? (error.code === undefined ? undefined : errorCodes[error.code].help);
  if (help !== undefined) complain(help);
}
