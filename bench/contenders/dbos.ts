import { DBOS } from "@dbos-inc/dbos-sdk";
import { serveWorkloads, setting, type Timed } from "./contender.ts";
import { connectSdkClient } from "./sdk-calls.ts";

/** DBOS on the same Postgres: a run is a workflow, a call a step that is checkpointed after it. It calls by the SDK client. */
const call = await connectSdkClient(setting("BENCH_SERVER_URL"));
let timed: Timed = (make) => make();
const workflow = DBOS.registerWorkflow(
  async (calls: number) => {
    for (let n = 0; n < calls; n++) await timed(() => DBOS.runStep(() => call(n), { name: "echo" }));
  },
  { name: "run" },
);
DBOS.setConfig({ name: "bench", systemDatabaseUrl: setting("BENCH_DATABASE_URL"), logLevel: "error" });
await DBOS.launch();
serveWorkloads(async (calls, given) => {
  timed = given;
  const handle = await DBOS.startWorkflow(workflow)(calls);
  await handle.getResult();
});
