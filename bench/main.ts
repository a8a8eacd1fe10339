import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { startPostgres } from "../test/postgres/postgres.ts";
import { type Contender, startContender, startServer } from "./contender-process.ts";
import { startHoldpoint } from "./holdpoint.ts";
import { PostgresWatch } from "./postgres-figures.ts";
import { describeMachine, markdown, type Report, type Sample, summarise } from "./report.ts";
import { startRestate } from "./restate-server.ts";
import { WARM_UP, WORKLOADS, type Workload } from "./workload.ts";

const { values: options } = parseArgs({
  options: {
    rounds: { type: "string", default: "5" },
    servers: { type: "string", default: "sdk,lean" },
    workloads: { type: "string", default: "W1,W2,W3" },
    contenders: { type: "string", default: "mcp-client,undici-post,holdpoint,dbos,restate" },
    /** Flags of Holdpoint's process, such as `--cpu-prof`. */
    "node-flags": { type: "string", default: "" },
    /** Whether the report is written into the repository. */
    write: { type: "boolean", default: false },
  },
});

const file = (name: string) => new URL(name, import.meta.url).pathname;
const say = (line: string) => process.stderr.write(`${line}\n`);

/** Starts a contender against a server, with a database of its own where it wants one. */
async function start(
  name: string,
  serverName: string,
  serverUrl: string,
  postgres: PostgresWatch,
  postgresUrl: string,
) {
  const databaseUrl = async () => {
    const database = `bench_${name}_${serverName}`;
    await postgres.createDatabase(database);
    return postgresUrl.replace(/[^/]*$/, database);
  };
  const env = { BENCH_SERVER_URL: serverUrl };
  switch (name) {
    case "holdpoint":
      return await startHoldpoint(await databaseUrl(), serverUrl, options["node-flags"].split(" ").filter(Boolean));
    case "dbos":
      return await startContender(name, file("contenders/dbos.ts"), {
        ...env,
        BENCH_DATABASE_URL: await databaseUrl(),
      });
    case "restate":
      return await startRestate(serverUrl);
    default:
      return await startContender(name, file(`contenders/${name}.ts`), env);
  }
}

async function sample(
  contender: Contender,
  workload: Workload,
  postgres: PostgresWatch,
): Promise<Omit<Sample, "server" | "round">> {
  const before = { own: 0, postgres: { cpuSeconds: 0, commits: 0 } };
  const measured = await contender.measure(workload, async () => {
    before.postgres = await postgres.figures();
    before.own = contender.cpuSeconds();
  });
  const own = contender.cpuSeconds() - before.own;
  const after = await postgres.figures();
  const calls = workload.runs * workload.calls;
  return {
    workload: workload.name,
    contender: contender.name,
    callsPerSecond: (calls * 1_000) / measured.elapsedMs,
    cpuSecondsPer1000: (own * 1_000) / calls,
    postgresCpuSecondsPer1000: ((after.cpuSeconds - before.postgres.cpuSeconds) * 1_000) / calls,
    commitsPerCall: (after.commits - before.postgres.commits) / calls,
    p50Ms: measured.p50Ms,
    p99Ms: measured.p99Ms,
  };
}

/** All rounds against one server: in each, every contender takes its turn at every workload, and the order turns too. */
async function rounds(serverName: string, postgres: PostgresWatch, postgresUrl: string, leftOut: Set<string>) {
  const server = await startServer(file(`servers/${serverName}.ts`));
  const contenders: Contender[] = [];
  const samples: Sample[] = [];
  try {
    for (const name of options.contenders.split(",")) {
      try {
        const contender = await start(name, serverName, server.url, postgres, postgresUrl);
        contenders.push(contender);
        await contender.measure(WARM_UP, async () => {});
      } catch (error) {
        leftOut.add(`${name} (it did not start here: ${(error as Error).message.split("\n")[0]?.slice(0, 200)})`);
        say(`${name} is left out: ${(error as Error).message}`);
      }
    }
    for (let round = 1; round <= Number(options.rounds); round++) {
      for (const workload of WORKLOADS.filter(({ name }) => options.workloads.split(",").includes(name))) {
        for (const contender of contenders) {
          const result = { ...(await sample(contender, workload, postgres)), server: serverName, round };
          samples.push(result);
          say(`${serverName} ${round} ${workload.name} ${contender.name}: ${line(result)}`);
        }
      }
      contenders.push(...contenders.splice(0, 1));
    }
  } finally {
    await Promise.allSettled(contenders.map((contender) => contender.close()));
    await server.process.close();
  }
  return samples;
}

function line(result: Sample): string {
  const { callsPerSecond, cpuSecondsPer1000, postgresCpuSecondsPer1000, commitsPerCall, p50Ms, p99Ms } = result;
  return `${callsPerSecond.toFixed(0)}/s, CPU ${cpuSecondsPer1000.toFixed(2)} + ${postgresCpuSecondsPer1000.toFixed(2)}, commits ${commitsPerCall.toFixed(2)}, p50 ${p50Ms.toFixed(1)}, p99 ${p99Ms.toFixed(1)}`;
}

function publish(report: Report): void {
  process.stdout.write(markdown(report));
  if (!options.write) return;
  writeFileSync(file("REPORT.md"), markdown(report));
  writeFileSync(file("report.json"), `${JSON.stringify(report, null, 2)}\n`);
}

const machine = describeMachine();
const server = await startPostgres();
const postgres = await PostgresWatch.open(server.url);
const leftOut = new Set<string>();
const samples: Sample[] = [];
try {
  const postgresText = await postgres.describe();
  for (const name of options.servers.split(",")) {
    samples.push(...(await rounds(name, postgres, server.url, leftOut)));
    // Written after each server: a run that is cut short leaves what it has.
    publish({ machine, postgres: postgresText, rows: summarise(samples), leftOut: [...leftOut] });
  }
} finally {
  await postgres.close();
  await server.close();
}
