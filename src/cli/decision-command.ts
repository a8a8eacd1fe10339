import type { Command } from "commander";
import type { DecisionAction } from "../api/run-spec.ts";
import { type Json, stringifyExact } from "../base/exact-json.ts";
import { visibleText } from "../base/visible-text.ts";
import { type ConnectionFlags, connect, withConnectionFlags } from "./connection.ts";
import { type Decided, decide } from "./decide.ts";
import { parseRunName, showCall } from "./parked-call.ts";
import type { Terminal } from "./terminal.ts";
import { readWhole } from "./whole-arguments.ts";

/** What approve, reject and answer have in common, and where they differ. */
export interface DecisionCommand {
  readonly action: DecisionAction;
  /** What happens next, in one line. */
  readonly next: string;
  readonly done: string;
}

export interface DecisionFlags extends ConnectionFlags {
  readonly message?: string;
}

/** Adds the arguments and flags of a decision to a command. */
export function withDecisionFlags(command: Command): Command {
  return withConnectionFlags(command)
    .argument("<run>", "run/NAME, or the name alone")
    .argument("[id]", "the parked call's id; without it the only parked call")
    .option("-m, --message <text>", "why: shown to everybody who looks at the run");
}

/** Decides one parked call and says what it did. @throws CommandFailed, KubeApiError */
export async function runDecision(
  terminal: Terminal,
  { action, next, done }: DecisionCommand,
  target: { run: string; id?: string; answers?: Json },
  flags: DecisionFlags,
): Promise<void> {
  const api = connect(flags);
  const wish = {
    namespace: api.namespace,
    run: parseRunName(target.run),
    action,
    ...(target.id === undefined ? {} : { callId: target.id }),
    ...(flags.message === undefined ? {} : { reason: flags.message }),
    ...(target.answers === undefined ? {} : { answers: target.answers }),
  };
  const asJson = flags.output === "json";
  const decided = await decide(api, wish, async (call, run) => {
    if (!asJson) showCall(terminal, call, await readWhole(api, run, call));
  });
  if (asJson) return terminal.print(stringifyExact(outcome(decided), 2));
  const { run, call, decision, stoodAlready } = decided;
  const already = stoodAlready ? "had already been " : "";
  terminal.print(
    terminal.colors.green(
      `call ${call.id} of run/${run.metadata.name} ${already}${done} as ${visibleText(decision.by)}`,
    ),
  );
  terminal.print(next);
  terminal.print(`watch it: kubectl get run ${run.metadata.name} -n ${run.metadata.namespace} --watch`);
}

function outcome({ run, call, decision, stoodAlready }: Decided) {
  const { namespace, name } = run.metadata;
  return { namespace, run: name, id: call.id, tool: call.tool, decision, stoodAlready };
}
