import { type Command, InvalidArgumentError } from "commander";
import { ANSWERS_BYTES_MAX } from "../api/run-spec.ts";
import { type Json, parseExact, stringifyExact } from "../base/exact-json.ts";
import { type DecisionFlags, runDecision, withDecisionFlags } from "./decision-command.ts";
import type { Terminal } from "./terminal.ts";

interface AnswerFlags extends DecisionFlags {
  readonly answers: { readonly value: Json };
}

/** `kubectl holdpoint answer run/NAME [ID] --answers JSON`: answers questions, or says with what result a call ended. */
export function answerCommand(command: Command, terminal: Terminal): Command {
  const kind = { action: "Answer", done: "answered", next: "The run goes on with these answers." } as const;
  return withDecisionFlags(command.description("Answer what a parked call asks, or say with what result it ended."))
    .requiredOption("--answers <json>", "{question: {field: value}}, or the tool's result", parseAnswers)
    .action((run: string, id: string | undefined, flags: AnswerFlags) =>
      runDecision(terminal, kind, { run, ...(id === undefined ? {} : { id }), answers: flags.answers.value }, flags),
    );
}

/** Wrapped, so that an answer of null is told from none. */
function parseAnswers(text: string): { value: Json } {
  let value: Json;
  try {
    value = parseExact(text);
  } catch (error) {
    throw new InvalidArgumentError(`this is no JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
  const bytes = Buffer.byteLength(stringifyExact(value));
  if (bytes > ANSWERS_BYTES_MAX)
    throw new InvalidArgumentError(`answers have ${bytes} bytes; at most ${ANSWERS_BYTES_MAX} are taken`);
  return { value };
}
