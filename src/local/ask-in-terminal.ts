import { createInterface, type Interface } from "node:readline";
import type { ParkedCall } from "../api/run-status.ts";
import { parseExact, stringifyExact } from "../base/exact-json.ts";
import { visibleLines, visibleText } from "../base/visible-text.ts";
import type { StoredObject } from "../objects/store.ts";
import type { Voice } from "./voice.ts";

export type TerminalAnswer =
  | { readonly kind: "approve" }
  | { readonly kind: "reject"; readonly reason: string }
  | { readonly kind: "quit" };

/** Whether somebody can be asked: standard input and standard error are a terminal. */
export function canAsk(): boolean {
  return process.stdin.isTTY === true && process.stderr.isTTY === true;
}

/** Longest reason that the API takes, in bytes. */
const REASON_BYTES_MAX = 512;

/** Asks about parked calls, one after another, on the terminal. */
export class TerminalQuestions {
  readonly #voice: Voice;
  readonly #lines: string[] = [];
  #interface: Interface | undefined;
  #ended = false;
  #wake: () => void = () => {};

  constructor(voice: Voice) {
    this.#voice = voice;
  }

  /**
   * Shows a parked call with its whole arguments and asks what to do. The end of the input, and an abort, are `quit`.
   * @param argumentsText the whole arguments; the status only has a preview
   */
  async ask(
    run: StoredObject,
    call: ParkedCall,
    argumentsText: string | undefined,
    signal: AbortSignal,
  ): Promise<TerminalAnswer> {
    showQuestion(this.#voice, run, call, argumentsText);
    for (;;) {
      const answer = (await this.#question("a(pprove)  r(eject)  d(etails)  q(uit) > ", signal))?.toLowerCase();
      if (answer === undefined || answer === "q" || answer === "quit") return { kind: "quit" };
      if (answer === "a" || answer === "approve") return { kind: "approve" };
      if (answer === "r" || answer === "reject") {
        const reason = await this.#question("why? (may be empty) > ", signal);
        return reason === undefined ? { kind: "quit" } : { kind: "reject", reason: cut(reason) };
      }
      if (answer === "d" || answer === "details") showDetails(this.#voice, call);
      else this.#voice.say("Type a, r, d or q, and Enter.");
    }
  }

  close(): void {
    this.#interface?.close();
  }

  /** The next line; undefined at the end of the input or once aborted. */
  async #question(prompt: string, signal: AbortSignal): Promise<string | undefined> {
    this.#open();
    process.stderr.write(prompt);
    const abort = () => this.#wake();
    signal.addEventListener("abort", abort, { once: true });
    while (this.#lines.length === 0 && !this.#ended && !signal.aborted) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    signal.removeEventListener("abort", abort);
    return signal.aborted ? undefined : this.#lines.shift()?.trim();
  }

  #open(): void {
    if (this.#interface !== undefined) return;
    // Without line editing of its own: the terminal keeps its own, and Ctrl-C stays a signal to the process.
    this.#interface = createInterface({ input: process.stdin, terminal: false });
    this.#interface.on("line", (line) => {
      this.#lines.push(line);
      this.#wake();
    });
    this.#interface.once("close", () => {
      this.#ended = true;
      this.#wake();
    });
  }
}

function showQuestion({ say, colors }: Voice, run: StoredObject, call: ParkedCall, argumentsText?: string): void {
  say("");
  say(colors.bold(`run/${run.metadata.name} asks: call ${call.id}  ${visibleText(call.tool)}`));
  say(`  ${call.reason}: ${visibleText(call.message)}`);
  for (const line of pretty(argumentsText ?? call.arguments ?? "").split("\n")) say(`  ${visibleText(line)}`);
}

function showDetails({ say }: Voice, call: ParkedCall): void {
  say(`  since    ${call.since}`);
  say(`  digest   ${call.callDigest}`);
  if (call.key !== undefined) say(`  key      ${visibleText(call.key)}`);
  if (call.argumentsBytes !== undefined) say(`  size     ${call.argumentsBytes} bytes`);
  say(`  offers   ${call.actions.join(", ")}`);
  if (call.schemaDiff !== undefined) say(visibleLines(call.schemaDiff));
}

/** JSON text over several lines; a text that was cut stays as it is. */
function pretty(text: string): string {
  try {
    return stringifyExact(parseExact(text), 2);
  } catch {
    return text;
  }
}

function cut(reason: string): string {
  const letters = [...reason];
  while (Buffer.byteLength(letters.join("")) > REASON_BYTES_MAX) letters.pop();
  return letters.join("");
}
