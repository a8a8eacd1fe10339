import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { echoTool, MODERN_PROTOCOL } from "../workload.ts";
import { serveUntilParentEnds } from "./serve.ts";

interface Request {
  readonly id?: number | string;
  readonly method: string;
  readonly params?: { readonly arguments?: { readonly text?: string } };
}

const serverInfo = { name: "lean", version: "1.0.0" };

/** An MCP server with nothing in it: it shows what the client's side costs, where a server built with the SDK ends first. */
const server = createServer((request, response) => {
  if (request.method !== "POST") return void response.writeHead(405).end();
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => answer(request, response, JSON.parse(Buffer.concat(chunks).toString("utf8")) as Request));
});

function answer(http: IncomingMessage, response: ServerResponse, { id, method, params }: Request): void {
  if (id === undefined) {
    response.writeHead(202).end();
    return;
  }
  const isModern = http.headers["mcp-protocol-version"] === MODERN_PROTOCOL;
  const body = JSON.stringify({ jsonrpc: "2.0", id, ...resultOf(method, params, isModern) });
  response.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(body) }).end(body);
}

function resultOf(method: string, params: Request["params"], isModern: boolean): object {
  const complete = isModern ? { resultType: "complete" } : {};
  switch (method) {
    case "tools/call": {
      const structuredContent = { text: params?.arguments?.text ?? "" };
      const content = [{ type: "text", text: JSON.stringify(structuredContent) }];
      return { result: { ...complete, content, structuredContent } };
    }
    case "tools/list":
      return { result: { ...complete, tools: [echoTool], ...(isModern ? { ttlMs: 0, cacheScope: "private" } : {}) } };
    case "initialize":
      return { result: { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo } };
    case "server/discover":
      return {
        result: {
          ...complete,
          supportedVersions: [MODERN_PROTOCOL, "2025-11-25"],
          capabilities: { tools: {} },
          ttlMs: 0,
          cacheScope: "private",
          _meta: { "io.modelcontextprotocol/serverInfo": serverInfo },
        },
      };
    default:
      return { error: { code: -32601, message: "Method not found" } };
  }
}

serveUntilParentEnds(server);
