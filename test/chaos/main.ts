import { parseArgs } from "node:util";
import { type ChaosReport, runChaos } from "./chaos.ts";

/**
 * `make chaos FAULTS=1000 SEED=7`: prints the seed, the progress, a table, and each violation with what is known of its run.
 * Exits with 1 when there was one.
 */
const { values } = parseArgs({
  options: {
    faults: { type: "string", default: "1000" },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
    pace: { type: "string", default: "900" },
    duration: { type: "string", default: "3600" },
    "stop-at-first": { type: "boolean", default: false },
  },
});
const say = (line: string) => void process.stdout.write(`${line}\n`);

say(`seed ${values.seed}`);
const report = await runChaos({
  seed: Number(values.seed),
  faults: Number(values.faults),
  paceMs: Number(values.pace),
  durationMsMax: Number(values.duration) * 1_000,
  stopsAtFirst: values["stop-at-first"],
  onProgress: say,
});
for (const line of table(report)) say(line);
for (const { what, runId, detail } of report.violations) say(`VIOLATION ${what}: ${runId ?? ""} ${detail}`);
for (const line of report.evidence) say(line);
process.exit(report.violations.length === 0 ? 0 : 1);

function table(done: ChaosReport): string[] {
  const rows: [string, string | number][] = [
    ["seed", done.seed],
    ["faults", done.faults],
    ...[...done.faultsByKind].sort().map(([kind, count]): [string, number] => [`  ${kind}`, count]),
    ["runs", done.runs],
    ["calls", done.calls],
    ["arrivals at the server", done.arrivals],
    ["resends", done.resends],
    ["unknown outcomes (AtMostOnce)", done.unknownOutcomes],
    ["decisions", done.decisions],
    ["signals", done.signals],
    ["seconds", Math.round(done.durationMs / 1000)],
    ["violations", done.violations.length],
  ];
  const width = Math.max(...rows.map(([name]) => name.length));
  return ["", ...rows.map(([name, value]) => `| ${name.padEnd(width)} | ${String(value).padStart(8)} |`)];
}
