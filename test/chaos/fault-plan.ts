import type { Fault } from "../mcp/ledger-behaviour.ts";
import { Random } from "./random.ts";

/** A fault, with all that is random about it. Which process it meets depends on which are up. */
export type PlannedFault = { readonly afterMs: number; readonly slot: number } & (
  | { readonly kind: "server"; readonly name: string; readonly fault: Fault; readonly releaseAfterMs?: number }
  | { readonly kind: "server-restart"; readonly downMs: number }
  | { readonly kind: "cut-after"; readonly statement: StatementName }
  /** One statement alone is late: whatever races with it wins. */
  | { readonly kind: "slow-statement"; readonly statement: StatementName; readonly ms: number }
  | { readonly kind: "cut-all" }
  /** The database gets nothing of what the dispatcher says for a while. */
  | { readonly kind: "stall"; readonly ms: number }
  /** The same, and the dispatcher dies before it is over. */
  | { readonly kind: "stall-kill"; readonly ms: number; readonly samePlace: boolean }
  | { readonly kind: "kill"; readonly samePlace: boolean }
  | { readonly kind: "terminate" }
  | { readonly kind: "freeze"; readonly ms: number }
  | { readonly kind: "postgres-restart"; readonly downMs: number }
);

/** Words by which a statement is known on the wire. */
export const STATEMENTS = {
  append: "insert into holdpoint.log",
  claim: "set owner = $1, runnable_at = null",
  release: "released as (",
  finish: "finished as (",
  news: "set runnable_at = null from fence",
  renewal: "update holdpoint.incarnations set lease_until",
  acceptance: "started as (",
} as const;
export type StatementName = keyof typeof STATEMENTS;
const statementNames = Object.keys(STATEMENTS) as StatementName[];

const SERVER_FAULTS = {
  "status-503": 3,
  "status-429": 3,
  "drop-before": 4,
  "drop-after": 5,
  "cut-answer": 3,
  "late-effect": 3,
  "late-answer": 4,
} as const;

const FAULTS = {
  server: 38,
  "server-restart": 2,
  "cut-after": 18,
  "slow-statement": 8,
  "cut-all": 3,
  stall: 5,
  "stall-kill": 4,
  kill: 9,
  terminate: 3,
  freeze: 8,
  "postgres-restart": 2,
} as const;
/** No dispatcher dies of these: whatever they leave undone, no death of its owner sets right. */
const FAULTS_WITHOUT_DEATHS = {
  ...FAULTS,
  "cut-after": 60,
  "stall-kill": 0,
  kill: 0,
  terminate: 0,
  freeze: 0,
} as const;

/**
 * The fault of that number.
 * @param paceMs between two faults, on the average
 * @param withDeaths whether dispatchers die of some
 */
export function planFault(seed: number, index: number, paceMs: number, withDeaths: boolean): PlannedFault {
  const random = new Random(seed, 5_000_000 + index);
  const when = { afterMs: Math.round(paceMs * 2 * random.next()), slot: random.between(0, 1_000_000) };
  const kind = random.weighted<keyof typeof FAULTS>(withDeaths ? FAULTS : FAULTS_WITHOUT_DEATHS);
  switch (kind) {
    case "server":
      return { ...when, kind, ...planServerFault(random) };
    case "server-restart":
      return { ...when, kind, downMs: random.between(0, 1_500) };
    case "cut-after":
      return { ...when, kind, statement: random.pick(statementNames) };
    case "slow-statement": {
      const statement = random.chance(0.5) ? "release" : random.pick(statementNames);
      return { ...when, kind, statement, ms: random.between(50, 700) };
    }
    case "stall":
      return { ...when, kind, ms: random.between(100, 4_000) };
    case "stall-kill":
      return { ...when, kind, ms: random.between(100, 1_000), samePlace: random.chance(0.5) };
    case "kill":
      return { ...when, kind, samePlace: random.chance(0.5) };
    case "freeze":
      return { ...when, kind, ms: random.between(200, 5_000) };
    case "postgres-restart":
      return { ...when, kind, downMs: random.chance(0.3) ? random.between(2_500, 5_000) : random.between(0, 1_000) };
    default:
      return { ...when, kind };
  }
}

function planServerFault(random: Random): { name: string; fault: Fault; releaseAfterMs?: number } {
  const name = random.weighted(SERVER_FAULTS);
  const retryAfter: Record<string, string> = random.chance(0.3) ? { "retry-after": "1" } : {};
  switch (name) {
    case "status-503":
      return { name, fault: { kind: "status", status: 503, headers: retryAfter } };
    case "status-429":
      return { name, fault: { kind: "status", status: 429, headers: retryAfter } };
    case "drop-before":
      return { name, fault: { kind: "dropBefore" } };
    case "drop-after":
      return { name, fault: { kind: "dropAfter" } };
    case "cut-answer":
      return { name, fault: { kind: "cutAnswer" } };
    case "late-effect":
      return { name, fault: { kind: "delay", ms: random.between(300, 4_500) } };
    case "late-answer":
      return { name, fault: { kind: "hold" }, releaseAfterMs: random.between(300, 4_500) };
  }
}
