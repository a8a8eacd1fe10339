import type { Command } from "commander";
import { FINAL_RUN_PHASES } from "../api/run-status.ts";
import { stringifyExact } from "../base/exact-json.ts";
import { type ConnectionFlags, connect, withConnectionFlags } from "./connection.ts";
import { FIELD_MANAGER } from "./decide.ts";
import { parseRunName } from "./parked-call.ts";
import { patchRun, readRun } from "./resources.ts";
import type { Terminal } from "./terminal.ts";

/** `kubectl holdpoint cancel run/NAME`: ends a Run, whatever it waits for (semantics 7.7). */
export function cancelCommand(command: Command, terminal: Terminal): Command {
  return withConnectionFlags(command.description("Cancel a Run, whatever it waits for."))
    .argument("<run>", "run/NAME, or the name alone")
    .action(async (argument: string, flags: ConnectionFlags) => {
      const api = connect(flags);
      const run = await readRun(api, api.namespace, parseRunName(argument));
      const { name, namespace, uid } = run.metadata;
      const phase = run.status?.phase;
      const ended = (FINAL_RUN_PHASES as readonly unknown[]).includes(phase);
      if (!ended) await patchRun(api, run, { metadata: { uid }, spec: { cancel: true } }, FIELD_MANAGER);
      if (flags.output === "json")
        return terminal.print(stringifyExact({ namespace, run: name, cancelled: !ended, phase }, 2));
      terminal.print(
        ended
          ? `run/${name} has ended already: ${phase}`
          : `run/${name} is being cancelled: calls in flight are cancelled, parked ones closed.\nwatch it: kubectl get run ${name} -n ${namespace} --watch`,
      );
    });
}
