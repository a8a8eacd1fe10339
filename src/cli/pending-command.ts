import type { Command } from "commander";
import { labels } from "../api/group.ts";
import { stringifyExact } from "../base/exact-json.ts";
import { visibleText } from "../base/visible-text.ts";
import { type ConnectionFlags, connect, withConnectionFlags } from "./connection.ts";
import { undecidedCalls } from "./parked-call.ts";
import { listRuns, type ServedRun } from "./resources.ts";
import { type Terminal, table } from "./terminal.ts";

interface PendingFlags extends ConnectionFlags {
  readonly allNamespaces?: boolean;
}

/** `kubectl holdpoint pending [-A]`: every call that waits for somebody, the longest waiting first. */
export function pendingCommand(command: Command, terminal: Terminal): Command {
  return withConnectionFlags(command.description("List the calls that wait for somebody."))
    .option("-A, --all-namespaces", "of all namespaces")
    .action(async (flags: PendingFlags) => {
      const api = connect(flags);
      const runs = await listRuns(api, flags.allNamespaces ? undefined : api.namespace);
      const waiting = runs
        .flatMap((run) => undecidedCalls(run).map((call) => ({ run, call })))
        .sort((left, right) => (left.call.since < right.call.since ? -1 : 1));
      if (flags.output === "json") {
        const entries = waiting.map(({ run, call }) => ({ ...place(run), ...call }));
        return terminal.print(stringifyExact(entries, 2));
      }
      const omitted = runs.reduce((sum, run) => sum + (run.status?.parkedOmitted ?? 0), 0);
      if (waiting.length === 0) return terminal.print("No call waits for anybody.");
      const rows = waiting.map(({ run, call }) => {
        const { namespace, run: name, parent } = place(run);
        const shown = [name, call.id, call.tool, call.reason, call.since, parent === undefined ? "" : `run/${parent}`];
        return (flags.allNamespaces ? [namespace, ...shown] : shown).map(visibleText);
      });
      const heading = ["RUN", "ID", "TOOL", "REASON", "SINCE", "PARENT"];
      for (const line of table([flags.allNamespaces ? ["NAMESPACE", ...heading] : heading, ...rows]))
        terminal.print(line);
      if (omitted > 0) terminal.print(`and ${omitted} more that the statuses do not list`);
      terminal.print("\ndecide one: kubectl approve run/RUN ID, or kubectl reject run/RUN ID -m WHY");
    });
}

function place({ metadata: { namespace, name, labels: given } }: ServedRun) {
  const parent = given?.[labels.parent];
  return { namespace, run: name, ...(parent === undefined ? {} : { parent }) };
}
