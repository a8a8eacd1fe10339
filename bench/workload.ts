/** How many runs there are at once, and how many calls each makes, one after the other. */
export interface Workload {
  readonly name: string;
  readonly runs: number;
  readonly calls: number;
}

export const WORKLOADS: readonly Workload[] = [
  { name: "W1", runs: 1, calls: 1_000 },
  { name: "W2", runs: 100, calls: 20 },
  { name: "W3", runs: 1_000, calls: 5 },
];

/** What is called before the clock starts, so that every contender is warm: code compiled, sockets open. */
export const WARM_UP: Workload = { name: "warm-up", runs: 20, calls: 10 };

export const MODERN_PROTOCOL = "2026-07-28";

/** 100 bytes, the size of an ordinary small answer. */
export const CALL_TEXT = "x".repeat(100);

export const echoTool = {
  name: "echo",
  inputSchema: {
    type: "object",
    properties: { n: { type: "number" }, text: { type: "string" } },
    required: ["n", "text"],
  },
  outputSchema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
} as const;

/** What one contender did with one workload. */
export interface Measured {
  readonly elapsedMs: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** The value below which this share of the values lies. Sorts in place. */
export function percentile(values: number[], share: number): number {
  values.sort((left, right) => left - right);
  return values[Math.min(values.length - 1, Math.floor(values.length * share))] ?? Number.NaN;
}
