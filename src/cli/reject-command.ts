import type { Command } from "commander";
import { type DecisionFlags, runDecision, withDecisionFlags } from "./decision-command.ts";
import type { Terminal } from "./terminal.ts";

/** `kubectl reject run/NAME [ID] -m …`: the script gets a ToolError in place of the call's result. */
export function rejectCommand(command: Command, terminal: Terminal): Command {
  const kind = {
    action: "Reject",
    done: "rejected",
    next: "The call is not sent: the script gets a ToolError with the code Rejected.",
  } as const;
  return withDecisionFlags(command.description("Reject a parked call of a Run: the script gets an error.")).action(
    (run: string, id: string | undefined, flags: DecisionFlags) =>
      runDecision(terminal, kind, { run, ...(id === undefined ? {} : { id }) }, flags),
  );
}
