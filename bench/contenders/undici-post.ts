import { Pool } from "undici";
import { CALL_TEXT, MODERN_PROTOCOL } from "../workload.ts";
import { expectText, serveWorkloads, setting } from "./contender.ts";

/** The least that a call can cost: the same JSON-RPC as a bare POST. */
const url = new URL(setting("BENCH_SERVER_URL"));
const pool = new Pool(url.origin, { connections: 16 });
const headers = {
  "content-type": "application/json",
  accept: "application/json, text/event-stream",
  "mcp-protocol-version": MODERN_PROTOCOL,
  "mcp-method": "tools/call",
  "mcp-name": "echo",
};
const meta = {
  "io.modelcontextprotocol/protocolVersion": MODERN_PROTOCOL,
  "io.modelcontextprotocol/clientCapabilities": {},
  "io.modelcontextprotocol/clientInfo": { name: "bench", version: "1.0.0" },
};
let idLast = 0;

async function call(n: number): Promise<void> {
  idLast += 1;
  const params = { name: "echo", arguments: { n, text: CALL_TEXT }, _meta: meta };
  const body = JSON.stringify({ jsonrpc: "2.0", id: idLast, method: "tools/call", params });
  const response = await pool.request({ path: url.pathname, method: "POST", headers, body });
  const answer = JSON.parse(await response.body.text()) as { result?: { structuredContent?: { text?: string } } };
  expectText(answer.result?.structuredContent?.text, CALL_TEXT);
}

serveWorkloads(async (calls, timed) => {
  for (let n = 0; n < calls; n++) await timed(() => call(n));
});
