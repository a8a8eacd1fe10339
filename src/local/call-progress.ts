import { visibleText } from "../base/visible-text.ts";
import type { LogEntry } from "../journal/log-records.ts";
import { readLogAfter } from "../journal/log-tail.ts";
import { viewRunOfObject } from "../journal/runs.ts";
import type { Sql } from "../journal/sql.ts";
import type { StoredObject } from "../objects/store.ts";
import type { Voice } from "./voice.ts";

interface Followed {
  readonly toolsetId: number;
  readonly runId: string;
  readonly tools: Map<number, string>;
  n: number;
}

const SHOWN_CHARACTERS = 200;

/** Tells what happens to the calls of runs, one line an event, as the journal records it. */
export class CallProgress {
  readonly #sql: Sql;
  readonly #voice: Voice;
  readonly #runs = new Map<string, Followed>();

  constructor(sql: Sql, voice: Voice) {
    this.#sql = sql;
    this.#voice = voice;
  }

  /** Begins with what is recorded from now on: what an earlier start did was told then. */
  async skipToEnd(run: StoredObject): Promise<void> {
    await this.#read(run, () => {});
  }

  /** Tells what was recorded since the last time. */
  async tell(run: StoredObject): Promise<void> {
    await this.#read(run, (line) => this.#voice.say(`  ${visibleText(line)}`));
  }

  async #read(run: StoredObject, tell: (line: string) => void): Promise<void> {
    const followed = await this.#follow(run);
    if (followed === undefined) return;
    const { toolsetId, runId, tools } = followed;
    for (;;) {
      const entries = await readLogAfter(this.#sql, toolsetId, runId, followed.n);
      if (entries.length === 0) return;
      for (const entry of entries) {
        followed.n = entry.n;
        for (const line of linesOf(entry, tools)) tell(line);
      }
    }
  }

  async #follow({ metadata: { uid } }: StoredObject): Promise<Followed | undefined> {
    const known = this.#runs.get(uid);
    if (known !== undefined) return known;
    const view = await viewRunOfObject(this.#sql, uid);
    if (view === undefined) return undefined;
    const followed = { toolsetId: view.toolsetId, runId: view.runId, tools: new Map<number, string>(), n: 0 };
    this.#runs.set(uid, followed);
    return followed;
  }
}

function linesOf(entry: LogEntry, tools: Map<number, string>): string[] {
  if (entry.kind === "called") tools.set(entry.seq, entry.tool);
  if (entry.kind === "printed") return entry.lines.map(({ level, text }) => `console.${level}: ${shortened(text)}`);
  const line = lineOf(entry, tools);
  return line === undefined ? [] : [line];
}

function lineOf(entry: LogEntry, tools: ReadonlyMap<number, string>): string | undefined {
  const seq = "seq" in entry ? entry.seq : 0;
  const call = `call ${seq}${tools.has(seq) ? ` ${tools.get(seq)}` : ""}`;
  switch (entry.kind) {
    case "called":
      return `${call} ${shortened(entry.argumentsText)}`;
    case "sent":
      return entry.attempt > 1 ? `${call} is sent again, attempt ${entry.attempt}` : undefined;
    case "notSent":
      return `${call} did not reach the server: ${entry.cause}`;
    case "interrupted":
      return `${call} was interrupted: ${entry.cause}`;
    case "settled":
      return entry.outcome.ok ? `${call} succeeded` : `${call} failed: ${entry.outcome.error.message}`;
    case "refused":
      return `a call of ${entry.error.tool} is refused: ${entry.error.message}`;
    case "parked":
      return `${call} is parked${entry.holdId === String(seq) ? "" : ` again, as ${entry.holdId}`}: ${entry.reason}`;
    case "resolved":
      return `${call} is resolved: ${entry.action} by ${entry.by}${entry.reason === "" ? "" : `, "${entry.reason}"`}`;
    default:
      return undefined;
  }
}

function shortened(text: string): string {
  return text.length <= SHOWN_CHARACTERS ? text : `${text.slice(0, SHOWN_CHARACTERS)}…`;
}
