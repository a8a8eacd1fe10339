import type { Command } from "commander";
import { visibleLines } from "../base/visible-text.ts";
import { CommandFailed } from "./command-failed.ts";
import { type ConnectionFlags, connect, withConnectionFlags } from "./connection.ts";
import { readConfigMap, readToolset } from "./resources.ts";
import type { Terminal } from "./terminal.ts";

/** `kubectl holdpoint types TOOLSET [--prompt]`: the declarations that scripts are checked against (semantics 2.5). */
export function typesCommand(command: Command, terminal: Terminal): Command {
  return withConnectionFlags(command.description("Print a Toolset's declarations, or their short form for a prompt."))
    .argument("<toolset>", "the Toolset's name")
    .option("--prompt", "one line a tool, for the prompt of an agent")
    .action(async (argument: string, flags: ConnectionFlags & { prompt?: boolean }) => {
      const api = connect(flags);
      const name = argument.replace(/^(?:toolsets?|ts)\//, "");
      const { status } = await readToolset(api, api.namespace, name);
      const { configMap, configMaps } = status?.declarations ?? {};
      const names = configMaps ?? (configMap === undefined ? [] : [configMap]);
      const files = await Promise.all(names.map((each) => readConfigMap(api, api.namespace, each)));
      const wanted = files
        .flatMap((data) => Object.entries(data))
        .filter(([key]) => key.endsWith(".d.ts") !== (flags.prompt ?? false));
      if (wanted.length === 0) {
        throw new CommandFailed(`toolset/${name} has no declarations yet`, {
          help: `It is not pinned. See why: kubectl get toolset ${name} -n ${api.namespace} -o yaml`,
        });
      }
      for (const [, text] of wanted) terminal.print(visibleLines(text.trimEnd()));
    });
}
