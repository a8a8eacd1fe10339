import { serveWorkloads, setting } from "./contender.ts";
import { connectSdkClient } from "./sdk-calls.ts";

/** The MCP TypeScript client alone: no journal, no sandbox, nothing survives. */
const call = await connectSdkClient(setting("BENCH_SERVER_URL"));
serveWorkloads(async (calls, timed) => {
  for (let n = 0; n < calls; n++) await timed(() => call(n));
});
