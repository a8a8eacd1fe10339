import { Command } from "commander";
import { answerCommand } from "./answer-command.ts";
import { approveCommand } from "./approve-command.ts";
import { cancelCommand } from "./cancel-command.ts";
import { describeCommand } from "./describe-command.ts";
import { pendingCommand } from "./pending-command.ts";
import { rejectCommand } from "./reject-command.ts";
import { repinCommand } from "./repin-command.ts";
import type { Terminal } from "./terminal.ts";
import { typesCommand } from "./types-command.ts";

/** `kubectl holdpoint …`: all plugins under one name. */
export function holdpointProgram(terminal: Terminal): Command {
  const program = new Command("kubectl-holdpoint").description("See and steer Holdpoint's Runs and Toolsets.");
  const commands = {
    pending: pendingCommand,
    describe: describeCommand,
    approve: approveCommand,
    reject: rejectCommand,
    answer: answerCommand,
    types: typesCommand,
    cancel: cancelCommand,
    repin: repinCommand,
  };
  for (const [name, build] of Object.entries(commands)) program.addCommand(build(new Command(name), terminal));
  return program;
}
