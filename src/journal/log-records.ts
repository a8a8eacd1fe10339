import type { CallError, PrintedLine } from "../sandbox/port.ts";

/**
 * The entries of a run's log (journal.md). Two streams interleave: what the script asked for (`called`) and what it was told
 * (`settled`, `refused`, `slept`, `signalRead`), each in its own order; the rest is the life of calls between.
 */
export type LogRecord =
  /** A call, with its exact arguments; `sent` when it goes out at once. */
  | {
      kind: "called";
      ref: number;
      seq: number;
      tool: string;
      digest: string;
      step: number;
      sent: boolean;
      argumentsText: string;
    }
  /** A delayed or further send, committed before it. */
  | { kind: "sent"; seq: number; attempt: number }
  /** The attempt certainly did not reach the tool, and is no interruption. */
  | { kind: "notSent"; seq: number; attempt: number; cause: string; retryAtMs: number }
  /** The attempt may have run; it is sent again with the same key not before `retryAtMs`. */
  | { kind: "interrupted"; seq: number; attempt: number; cause: string; retryAtMs: number }
  /** Invalid arguments: told to the script, never judged again. */
  | { kind: "refused"; ref: number; error: CallError }
  /** How the call ended, exactly as the script is told. */
  | { kind: "settled"; ref: number; seq: number; attempts: number; outcome: SettledOutcome }
  | { kind: "parked"; seq: number; holdId: string; reason: string }
  /** A decision that was carried out. `answersText` is the tool's result, when somebody who looked said what it was. */
  | {
      kind: "resolved";
      seq: number;
      holdId: string;
      action: "Approve" | "Reject" | "Answer";
      by: string;
      reason: string;
      answersText?: string;
    }
  | { kind: "slept"; ref: number }
  | { kind: "signalRead"; ref: number; signalNo: number | undefined; valueText: string | undefined }
  | { kind: "printed"; lines: readonly PrintedLine[] }
  /** A result that came after the call was settled. */
  | { kind: "lateResult"; seq: number; outcome: SettledOutcome };

export type SettledOutcome =
  | { readonly ok: true; readonly valueText?: string }
  | { readonly ok: false; readonly error: CallError };

/** A record as it stands in the log: with its number in the run and its recorded time. */
export type LogEntry = LogRecord & { readonly n: number; readonly atMs: number };

/** The kinds as stored. Numbers are for ever: a journal outlives the code. */
const KIND_NUMBERS = {
  called: 0,
  settled: 1,
  sent: 2,
  notSent: 3,
  refused: 4,
  parked: 5,
  resolved: 6,
  signalRead: 7,
  slept: 8,
  printed: 9,
  lateResult: 10,
  interrupted: 11,
} as const satisfies Record<LogRecord["kind"], number>;

const KIND_NAMES = new Map<number, LogRecord["kind"]>(
  Object.entries(KIND_NUMBERS).map(([name, number]) => [number, name as LogRecord["kind"]]),
);

/** A record as columns. `meta` and `payload` are JSON text; the payload is the caller's exact text, never parsed. */
export interface LogRow {
  readonly kind: number;
  readonly ref: number | null;
  readonly seq: number | null;
  readonly meta: string;
  readonly payload: string | null;
}

/** What a row costs besides its payload: its columns, its index entry and the row's own header. */
const ROW_BYTES = 200;

/** About how many bytes a record takes in the journal: its foreign text in UTF-8, and a row. */
export function recordBytes(record: LogRecord): number {
  return ROW_BYTES + Buffer.byteLength(foreignText(record), "utf8");
}

function foreignText(record: LogRecord): string {
  switch (record.kind) {
    case "called":
      return record.argumentsText;
    case "settled":
    case "lateResult":
      return record.outcome.ok ? (record.outcome.valueText ?? "") : record.outcome.error.message;
    case "signalRead":
      return record.valueText ?? "";
    case "printed":
      return record.lines.map((line) => line.text).join("");
    case "refused":
      return record.error.message;
    default:
      return "";
  }
}

/** Splits a record into the columns of its row. */
export function encodeRecord(record: LogRecord): LogRow {
  const { kind, ...rest } = record as LogRecord & { ref?: number; seq?: number };
  const { ref, seq, ...fields } = rest as { ref?: number; seq?: number };
  const { meta, payload } = splitPayload(record.kind, fields as Record<string, unknown>);
  return { kind: KIND_NUMBERS[kind], ref: ref ?? null, seq: seq ?? null, meta: JSON.stringify(meta), payload };
}

/** Foreign text of any size stands in a column of its own, so that it is stored once and as it is. */
function splitPayload(
  kind: LogRecord["kind"],
  fields: Record<string, unknown>,
): { meta: Record<string, unknown>; payload: string | null } {
  if (kind === "called") {
    const { argumentsText, ...meta } = fields;
    return { meta, payload: argumentsText as string };
  }
  if (kind === "settled" || kind === "lateResult") {
    const { outcome, ...meta } = fields as { outcome: SettledOutcome };
    if (outcome.ok) return { meta: { ...meta, ok: true }, payload: outcome.valueText ?? null };
    return { meta: { ...meta, ok: false }, payload: JSON.stringify(outcome.error) };
  }
  if (kind === "signalRead") {
    const { valueText, ...meta } = fields;
    return { meta, payload: (valueText as string | undefined) ?? null };
  }
  return { meta: fields, payload: null };
}

/**
 * Puts a row together again.
 * @throws RangeError for a kind that this code does not know: the journal is newer than the code
 */
export function decodeRecord(row: LogRow & { readonly n: number; readonly atMs: number }): LogEntry {
  const kind = KIND_NAMES.get(row.kind);
  if (kind === undefined)
    throw new RangeError(`the log holds an entry of kind ${row.kind}, which this version does not know`);
  const meta = JSON.parse(row.meta) as Record<string, unknown>;
  const entry: Record<string, unknown> = { kind, n: row.n, atMs: row.atMs, ...meta };
  if (row.ref !== null) entry["ref"] = row.ref;
  if (row.seq !== null) entry["seq"] = row.seq;
  if (kind === "called") entry["argumentsText"] = row.payload;
  if (kind === "signalRead") entry["valueText"] = row.payload ?? undefined;
  if (kind === "settled" || kind === "lateResult") {
    const { ok } = meta as { ok: boolean };
    delete entry["ok"];
    entry["outcome"] = ok
      ? { ok, ...(row.payload === null ? {} : { valueText: row.payload }) }
      : { ok, error: JSON.parse(row.payload ?? "null") as CallError };
  }
  return entry as unknown as LogEntry;
}
