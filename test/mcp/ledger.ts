import { appendFileSync, existsSync, readFileSync } from "node:fs";

/** One `tools/call` that reached the server. */
export interface LedgerEntry {
  /** Milliseconds since the epoch. */
  readonly atMs: number;
  readonly tool: string;
  /** The call's idempotency key; empty when it carried none. */
  readonly key: string;
  /** The arguments with the digits they had on the wire. */
  readonly argumentsText: string;
  /** Whether this request caused the effect; a repeat of a known key does not. */
  readonly effect: boolean;
  /** What the effect answered, for repeats. */
  readonly resultText: string;
}

/** What a server did: every call that reached it, and its effects by key. Kept in a file when one is given. */
export class Ledger {
  readonly entries: LedgerEntry[] = [];
  readonly #file: string | undefined;
  readonly #first = new Map<string, LedgerEntry>();

  constructor(file?: string) {
    this.#file = file;
    if (file === undefined || !existsSync(file)) return;
    for (const line of readFileSync(file, "utf8").split("\n")) {
      if (line !== "") this.#keep(JSON.parse(line) as LedgerEntry);
    }
  }

  /** The first effect under a key, if there was one. */
  original(key: string): LedgerEntry | undefined {
    return key === "" ? undefined : this.#first.get(key);
  }

  record(entry: LedgerEntry): void {
    if (this.#file !== undefined) appendFileSync(this.#file, `${JSON.stringify(entry)}\n`);
    this.#keep(entry);
  }

  /** How often each key had an effect. Calls without a key count under the empty one. */
  effects(): Record<string, number> {
    const counts: Record<string, number> = {};
    for (const { key, effect } of this.entries) counts[key] = (counts[key] ?? 0) + (effect ? 1 : 0);
    return counts;
  }

  #keep(entry: LedgerEntry): void {
    this.entries.push(entry);
    if (entry.effect && entry.key !== "" && !this.#first.has(entry.key)) this.#first.set(entry.key, entry);
  }
}
