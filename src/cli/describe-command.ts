import type { Command } from "commander";
import { type Json, stringifyExact } from "../base/exact-json.ts";
import { visibleLines, visibleText } from "../base/visible-text.ts";
import { type ConnectionFlags, connect, withConnectionFlags } from "./connection.ts";
import { decidedText } from "./decide.ts";
import { parkedCalls, parseRunName, showCall } from "./parked-call.ts";
import { readRun, type ServedRun } from "./resources.ts";
import type { Terminal } from "./terminal.ts";
import { readWhole } from "./whole-arguments.ts";

/** `kubectl holdpoint describe run/NAME`: where a Run is, what waits, what was decided, how it ended. */
export function describeCommand(command: Command, terminal: Terminal): Command {
  return withConnectionFlags(command.description("Show a Run: where it is, what waits for somebody, how it ended."))
    .argument("<run>", "run/NAME, or the name alone")
    .action(async (argument: string, flags: ConnectionFlags) => {
      const api = connect(flags);
      const run = await readRun(api, api.namespace, parseRunName(argument));
      if (flags.output === "json") return terminal.print(stringifyExact(run, 2));
      describeHead(terminal, run);
      for (const call of parkedCalls(run)) showCall(terminal, call, await readWhole(api, run, call));
      describeEnd(terminal, run);
    });
}

function describeHead({ print, colors }: Terminal, run: ServedRun): void {
  const { status = {}, spec, metadata } = run;
  const calls = status.calls;
  const waits = status.waitingFor ?? status.wakeAt;
  print(colors.bold(`run/${metadata.name} in ${metadata.namespace}`));
  print(`  phase        ${status.phase ?? "Pending"}${waits === undefined ? "" : ` (${waits})`}`);
  print(`  toolset      ${spec.toolset.name}  ${status.toolsetDigest ?? "not pinned yet"}`);
  if (status.requester !== undefined) print(`  requester    ${visibleText(status.requester)}`);
  if (calls !== undefined) {
    const { total, succeeded, failed, parked, inFlight } = calls;
    print(`  calls        ${total}: ${succeeded} succeeded, ${failed} failed, ${parked} parked, ${inFlight} in flight`);
  }
  for (const { type, status: holds, reason, message } of status.conditions ?? []) {
    print(`  ${type.padEnd(12)} ${holds}  ${reason}: ${visibleText(message)}`);
  }
  for (const [id, decision] of Object.entries(spec.decisions ?? {}))
    print(`  decision     ${decidedText(run, id, decision)}`);
}

function describeEnd({ print, colors }: Terminal, { status = {} }: ServedRun): void {
  if (status.error !== undefined) {
    const { code, message, tool, line } = status.error;
    const where = [tool, line === undefined ? undefined : `line ${line}`]
      .filter((part) => part !== undefined)
      .join(", ");
    print(colors.red(`error ${code}${where === "" ? "" : ` (${visibleText(where)})`}:`));
    print(visibleLines(message));
  }
  if (status.result !== undefined) print(`result ${visibleText(stringifyExact(status.result as Json))}`);
  const cut = status.resultCut ?? status.error?.cut;
  if (cut !== undefined) print(colors.yellow(`cut: the whole has ${cut.bytes} bytes, ${cut.digest}`));
}
