import type { ParkedCall } from "../api/run-status.ts";
import { visibleText } from "../base/visible-text.ts";
import { CommandFailed } from "./command-failed.ts";
import type { ServedRun } from "./resources.ts";
import type { Terminal } from "./terminal.ts";

/** `run/NAME`, `runs/NAME`, `hprun/NAME` with or without the group, or NAME alone. @throws CommandFailed */
export function parseRunName(argument: string): string {
  const match = /^(?:(?:runs?|hprun)(?:\.holdpoint\.dev)?\/)?([^/]+)$/i.exec(argument);
  if (match?.[1] === undefined) {
    throw new CommandFailed(`"${visibleText(argument)}" names no Run: write run/NAME, or the name alone`);
  }
  return match[1];
}

/** The calls that wait for somebody now. */
export function parkedCalls(run: ServedRun): readonly ParkedCall[] {
  return run.status?.parked ?? [];
}

/** Those of them that nobody has decided: a decision stands in the Run before the controller carries it out. */
export function undecidedCalls(run: ServedRun): readonly ParkedCall[] {
  return parkedCalls(run).filter(({ id }) => run.spec.decisions?.[id] === undefined);
}

/** One line for each parked call, for lists in messages. */
export function parkedLines(run: ServedRun): string[] {
  const lines = parkedCalls(run).map((call) => `  ${call.id}  ${visibleText(`${call.tool}  ${call.reason}`)}`);
  const omitted = run.status?.parkedOmitted ?? 0;
  return omitted > 0 ? [...lines, `  and ${omitted} more that the status does not list`] : lines;
}

/**
 * All about one parked call: what whoever decides has to see (semantics 7.9; case c07).
 * @param whole the arguments, whole, where the preview was cut
 */
export function showCall({ print, colors }: Terminal, call: ParkedCall, whole: string | undefined): void {
  print(colors.bold(`call ${call.id}  ${visibleText(call.tool)}`));
  print(`  waits for    ${call.reason}: ${visibleText(call.message)}`);
  print(`  since        ${visibleText(call.since)}`);
  print(`  arguments    ${visibleText(whole ?? call.arguments ?? "(not shown)")}`);
  if (call.previewCut && whole === undefined) {
    const size = call.argumentsBytes === undefined ? "" : ` of ${call.argumentsBytes} bytes`;
    print(colors.yellow(`               cut: only the beginning${size} is shown; the digest is over the whole`));
  }
  if (call.schemaDiff !== undefined) {
    print("  schema now differs from the pin:");
    for (const line of call.schemaDiff.split("\n")) print(`    ${visibleText(line)}`);
  }
  if (call.questions !== undefined) print(`  questions    ${visibleText(JSON.stringify(call.questions))}`);
  if (call.key !== undefined) print(`  key          ${visibleText(call.key)}`);
  print(`  digest       ${call.callDigest}`);
  print(`  may be       ${call.actions.join(", ")}`);
  const approvers = approversText(call);
  if (approvers !== undefined) print(`  by           ${visibleText(approvers)}`);
}

function approversText({ approvers }: ParkedCall): string | undefined {
  if (approvers === undefined) return undefined;
  const { users = [], groups = [], notRequester } = approvers;
  const named = [
    ...(users.length > 0 ? [`users ${users.join(", ")}`] : []),
    ...(groups.length > 0 ? [`groups ${groups.join(", ")}`] : []),
  ].join(" or ");
  return `${named || "whoever has the verb approve"}${notRequester ? ", but not who created the Run" : ""}`;
}
