import { canonicalJson } from "../base/canonical-json.ts";
import { parseExact } from "../base/exact-json.ts";
import type { Command, Script, Turn } from "../sandbox/port.ts";
import type { RecordedCall, RunHistory } from "./history.ts";

/** What the script asked for, and in which state it is, after everything recorded was told to it again. */
export interface Replayed {
  /** Every command that was not answered yet, in order, those of one turn together: a turn's calls are one step. */
  readonly openTurns: readonly OpenTurn[];
  /** Lines printed beyond those that the log holds. */
  readonly newLines: Turn["printed"];
  readonly lastTurn: Turn;
}

/** What a turn asked for, and what the script's clock said then. */
export interface OpenTurn {
  readonly atMs: number;
  readonly commands: readonly Command[];
}

/** A replayed script asked for something else than the log holds (semantics 3.6). Names both. */
export class ReplayMismatch extends Error {
  override readonly name = "ReplayMismatch";
}

/**
 * Tells a fresh script everything that the log says it was told, in that order and with those times, and holds what it asks
 * for against the log. What the script asks and what it is told are two streams, each with its own order: the script is
 * deterministic, so the second decides the first.
 * @throws ReplayMismatch
 */
export async function replay(
  script: Script,
  firstTurn: Turn,
  startedAtMs: number,
  history: RunHistory,
): Promise<Replayed> {
  const open = new Map<number, Command>();
  const turns: OpenTurn[] = [];
  const newLines: Turn["printed"][number][] = [];
  let linesSeen = 0;
  const take = (turn: Turn, atMs: number) => {
    for (const command of turn.commands) {
      checkCommand(command, history);
      open.set(command.ref, command);
    }
    turns.push({ atMs, commands: turn.commands });
    for (const line of turn.printed) {
      linesSeen += 1;
      if (linesSeen > history.printedLines) newLines.push(line);
    }
  };
  take(firstTurn, startedAtMs);
  let lastTurn = firstTurn;
  for (const delivery of history.deliveries) {
    if (lastTurn.state.kind === "failed") break;
    if (!open.delete(delivery.ref)) {
      throw new ReplayMismatch(`the log answers command ${delivery.ref}, which the script did not make on replay`);
    }
    lastTurn = await script.deliver(delivery);
    take(lastTurn, delivery.atMs);
  }
  const openTurns = turns.map(({ atMs, commands }) => ({
    atMs,
    commands: commands.filter(({ ref }) => open.has(ref)),
  }));
  return { openTurns: openTurns.filter(({ commands }) => commands.length > 0), newLines, lastTurn };
}

function checkCommand(command: Command, history: RunHistory): void {
  const recorded = history.callsByRef.get(command.ref);
  if (command.kind !== "call") {
    if (recorded)
      throw new ReplayMismatch(
        `the log holds ${describeRecorded(recorded)}, the script waits for a ${command.kind} instead`,
      );
    return;
  }
  if (history.refusedRefs.has(command.ref)) return;
  if (!recorded) {
    if (command.ref > history.lastRecordedRef) return;
    throw new ReplayMismatch(`the script calls ${command.tool} where the log holds no call`);
  }
  if (recorded.tool === command.tool && sameArguments(recorded.argumentsText, command.argumentsText)) return;
  throw new ReplayMismatch(
    `the log holds ${describeRecorded(recorded)}, the script calls ${command.tool} ${preview(command.argumentsText)}`,
  );
}

function sameArguments(recorded: string, made: string): boolean {
  return recorded === made || canonicalJson(parseExact(recorded)) === canonicalJson(parseExact(made));
}

function describeRecorded(call: RecordedCall): string {
  return `call ${call.seq} of ${call.tool} ${preview(call.argumentsText)}`;
}

function preview(text: string): string {
  return text.length <= 200 ? text : `${text.slice(0, 200)}…`;
}
