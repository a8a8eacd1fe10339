import * as restate from "@restatedev/restate-sdk";
import { Agent, request } from "undici";
import { serveWorkloads, setting, type Timed } from "./contender.ts";
import { connectSdkClient } from "./sdk-calls.ts";

/** Restate with its own server: a run is an invocation of a handler, a call a `ctx.run` in it. It calls by the SDK client. */
const call = await connectSdkClient(setting("BENCH_SERVER_URL"));
const ingress = setting("BENCH_RESTATE_INGRESS_URL");
const admin = setting("BENCH_RESTATE_ADMIN_URL");
let timed: Timed = (make) => make();
const service = restate.service({
  name: "bench",
  handlers: {
    run: async (context: restate.Context, calls: number) => {
      for (let n = 0; n < calls; n++) await timed(async () => await context.run("echo", () => call(n)));
    },
  },
});
const port = await restate.serve({ services: [service], port: 0 });
const registered = await request(`${admin}/deployments`, {
  method: "POST",
  headers: { "content-type": "application/json" },
  body: JSON.stringify({ uri: `http://127.0.0.1:${port}` }),
});
if (registered.statusCode >= 300) throw new Error(`no registration: ${await registered.body.text()}`);
const agent = new Agent({ connections: 1_000, headersTimeout: 0, bodyTimeout: 0 });
serveWorkloads(async (calls, given) => {
  timed = given;
  const response = await request(`${ingress}/bench/run`, {
    dispatcher: agent,
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(calls),
  });
  const text = await response.body.text();
  if (response.statusCode >= 300) throw new Error(`an invocation failed: ${text}`);
});
