/**
 * A small issue tracker as an MCP server, for the example.
 * `node examples/triage/server.ts --port 8931 [--state FILE]`; `--port 0` takes a free port. Prints one line when it is ready.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { parseArgs } from "node:util";
import {
  localhostHostValidation,
  localhostOriginValidation,
  type NodeIncomingMessageLike,
  toNodeHandler,
} from "@modelcontextprotocol/node";
import { createMcpHandler } from "@modelcontextprotocol/server";
import { IssueStore } from "./issue-store.ts";
import { trackerServer } from "./tracker.ts";

const { values } = parseArgs({ options: { port: { type: "string", default: "8931" }, state: { type: "string" } } });
const store = new IssueStore(values.state);
const mcp = toNodeHandler(createMcpHandler(() => trackerServer(store)));
const isHostAllowed = localhostHostValidation();
const isOriginAllowed = localhostOriginValidation();

const http = createServer((request, response) => {
  // Both guards answer what they refuse: a page in a browser must not reach the tracker by a rebound name.
  if (!isHostAllowed(request, response) || !isOriginAllowed(request, response)) return;
  if (request.url === "/mcp") void mcp(request as NodeIncomingMessageLike, response);
  else response.writeHead(404).end();
});

http.on("error", (error) => {
  process.stderr.write(`tracker: ${error.message}\n`);
  process.exit(1);
});

http.listen(Number(values.port), "127.0.0.1", () => {
  const { port } = http.address() as AddressInfo;
  process.stdout.write(`tracker: ready at http://127.0.0.1:${port}/mcp\n`);
});

for (const signal of ["SIGTERM", "SIGINT"] as const) {
  process.once(signal, () => {
    http.close(() => process.exit(0));
    http.closeIdleConnections();
    // Answers under way get a moment; whoever still waits then calls again with the same key.
    setTimeout(() => process.exit(0), 2_000).unref();
  });
}
