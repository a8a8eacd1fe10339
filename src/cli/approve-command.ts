import type { Command } from "commander";
import { type DecisionFlags, runDecision, withDecisionFlags } from "./decision-command.ts";
import type { Terminal } from "./terminal.ts";

/** `kubectl approve run/NAME [ID]`: lets a parked call go on. */
export function approveCommand(command: Command, terminal: Terminal): Command {
  const kind = { action: "Approve", done: "approved", next: "The run goes on and the call is sent." } as const;
  return withDecisionFlags(command.description("Approve a parked call of a Run: it is sent.")).action(
    (run: string, id: string | undefined, flags: DecisionFlags) =>
      runDecision(terminal, kind, { run, ...(id === undefined ? {} : { id }) }, flags),
  );
}
