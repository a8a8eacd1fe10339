import { readFileSync } from "node:fs";
import { arch, cpus, platform, release, totalmem } from "node:os";

/** One contender, one workload, one server, one round. */
export interface Sample {
  readonly server: string;
  readonly workload: string;
  readonly contender: string;
  readonly round: number;
  readonly callsPerSecond: number;
  /** Of its processes and, where it uses one, its engine. */
  readonly cpuSecondsPer1000: number;
  readonly postgresCpuSecondsPer1000: number;
  /** Transactions that Postgres committed, for each call. */
  readonly commitsPerCall: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

export interface Row {
  readonly server: string;
  readonly workload: string;
  readonly contender: string;
  readonly rounds: number;
  readonly callsPerSecond: { readonly median: number; readonly min: number; readonly max: number };
  readonly cpuSecondsPer1000: number;
  readonly postgresCpuSecondsPer1000: number;
  readonly commitsPerCall: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Calls per second over those of the raw MCP client in the same round: median, least and most. */
  readonly ratioToRawClient?: { readonly median: number; readonly min: number; readonly max: number };
}

export interface Report {
  readonly machine: string;
  readonly postgres: string;
  readonly rows: readonly Row[];
  readonly leftOut: readonly string[];
}

const RAW_CLIENT = "mcp-client";

/** Puts the rounds together: medians of each figure, and ratios within a round, which a busy machine moves least. */
export function summarise(samples: readonly Sample[]): Row[] {
  const groups = Map.groupBy(samples, ({ server, workload, contender }) => `${server} ${workload} ${contender}`);
  return [...groups.values()].flatMap((group) => {
    const [first] = group;
    return first ? [summariseGroup(first, group, samples)] : [];
  });
}

function summariseGroup(first: Sample, group: readonly Sample[], samples: readonly Sample[]): Row {
  const { server, workload, contender } = first;
  const of = (figure: (sample: Sample) => number) => spread(group.map(figure));
  const ratios = group.flatMap((sample) => {
    const raw = samples.find(
      (other) =>
        other.contender === RAW_CLIENT &&
        other.server === server &&
        other.workload === workload &&
        other.round === sample.round,
    );
    return raw ? [sample.callsPerSecond / raw.callsPerSecond] : [];
  });
  return {
    server,
    workload,
    contender,
    rounds: group.length,
    callsPerSecond: of((sample) => sample.callsPerSecond),
    cpuSecondsPer1000: of((sample) => sample.cpuSecondsPer1000).median,
    postgresCpuSecondsPer1000: of((sample) => sample.postgresCpuSecondsPer1000).median,
    commitsPerCall: of((sample) => sample.commitsPerCall).median,
    p50Ms: of((sample) => sample.p50Ms).median,
    p99Ms: of((sample) => sample.p99Ms).median,
    ...(ratios.length === 0 ? {} : { ratioToRawClient: spread(ratios) }),
  };
}

function spread(values: readonly number[]): { median: number; min: number; max: number } {
  const sorted = [...values].sort((left, right) => left - right);
  const at = (index: number) => sorted[index] ?? Number.NaN;
  const middle = Math.floor(sorted.length / 2);
  const median = sorted.length % 2 === 1 ? at(middle) : (at(middle - 1) + at(middle)) / 2;
  return { median, min: at(0), max: at(sorted.length - 1) };
}

/** What the figures were measured on, with how busy it was: other work on the same cores moves every figure. */
export function describeMachine(): string {
  const [cpu] = cpus();
  const memoryGiB = Math.round(totalmem() / 2 ** 30);
  const load = readFileSync("/proc/loadavg", "utf8").split(" ")[0];
  return `${cpus().length} × ${cpu?.model.trim() || "CPU"}, ${memoryGiB} GiB, ${platform()} ${release()} ${arch()}, Node ${process.version}, load average at the start ${load}`;
}

/** The report as a Markdown document. */
export function markdown({ machine, postgres, rows, leftOut }: Report): string {
  const head = [
    "# Benchmark",
    "",
    "Written by `make bench`; do not edit. W1 is one run with 1,000 calls, W2 are 100 runs with 20, W3 are 1,000 runs with 5,",
    "each run's calls one after the other. Everybody calls the same tool of the same server, in processes of their own,",
    "on the same machine, in rounds that take turns: the peers over at most 16 connections,",
    "Holdpoint over its own bound, 128. Holdpoint has everything on: sandbox,",
    "validation, policies, a journal with fsync. Its runs are admitted before the clock starts, and every contender made a",
    "few hundred calls before. CPU is that of the contender's processes with its engine, and that of Postgres beside it;",
    "the MCP server's is not counted. The ratio is to the raw MCP client's calls per second in the same round.",
    "",
    `- Machine: ${machine}`,
    `- ${postgres}`,
    ...leftOut.map((line) => `- Left out: ${line}`),
    "",
  ];
  return [...head, ...["sdk", "lean"].flatMap((server) => table(server, rows)), ""].join("\n");
}

function table(server: string, rows: readonly Row[]): string[] {
  const own = rows.filter((row) => row.server === server);
  if (own.length === 0) return [];
  const title = server === "sdk" ? "A server built with the MCP SDK" : "A lean server (raw `node:http`)";
  return [
    `## ${title}`,
    "",
    "| | Contender | Calls/s (min–max) | Ratio (min–max) | CPU s / 1,000 calls | + Postgres | Commits / call | p50 ms | p99 ms | Rounds |",
    "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|",
    ...own.map(tableLine),
    "",
  ];
}

function tableLine(row: Row): string {
  const { callsPerSecond: speed, ratioToRawClient: ratio } = row;
  const range = ({ min, max }: { min: number; max: number }, digits: number) =>
    `${min.toFixed(digits)}–${max.toFixed(digits)}`;
  const cells = [
    row.workload,
    row.contender,
    `${speed.median.toFixed(0)} (${range(speed, 0)})`,
    ratio ? `${ratio.median.toFixed(2)} (${range(ratio, 2)})` : "",
    row.cpuSecondsPer1000.toFixed(2),
    row.postgresCpuSecondsPer1000.toFixed(2),
    row.commitsPerCall.toFixed(2),
    row.p50Ms.toFixed(1),
    row.p99Ms.toFixed(1),
    String(row.rounds),
  ];
  return `| ${cells.join(" | ")} |`;
}
