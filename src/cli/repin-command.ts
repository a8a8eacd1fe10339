import type { Command } from "commander";
import { annotations } from "../api/group.ts";
import { stringifyExact } from "../base/exact-json.ts";
import { type ConnectionFlags, connect, withConnectionFlags } from "./connection.ts";
import { FIELD_MANAGER } from "./decide.ts";
import { patchToolset, readToolset } from "./resources.ts";
import type { Terminal } from "./terminal.ts";

/** `kubectl holdpoint repin TOOLSET`: lists the servers again and makes a new pin (semantics 1.7). */
export function repinCommand(command: Command, terminal: Terminal): Command {
  return withConnectionFlags(command.description("List a Toolset's servers again and make a new pin."))
    .argument("<toolset>", "the Toolset's name")
    .action(async (argument: string, flags: ConnectionFlags) => {
      const api = connect(flags);
      const toolset = await readToolset(api, api.namespace, argument.replace(/^(?:toolsets?|ts)\//, ""));
      const { name, namespace } = toolset.metadata;
      const wish = new Date().toISOString();
      await patchToolset(api, toolset, { metadata: { annotations: { [annotations.repin]: wish } } }, FIELD_MANAGER);
      const before = toolset.status?.digest;
      if (flags.output === "json")
        return terminal.print(stringifyExact({ namespace, toolset: name, repin: wish, digestBefore: before }, 2));
      terminal.print(`toolset/${name} is being pinned anew; runs that exist keep their pin.`);
      terminal.print(`watch it: kubectl get toolset ${name} -n ${namespace} --watch`);
    });
}
