import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from "node:http";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { onTestFinished } from "vitest";
import { createMcpSource, type McpSourceOptions } from "../../src/tools/mcp/source.ts";
import type { AttemptOutcome, AttemptRequest, ToolSource } from "../../src/tools/port.ts";
import { type LedgerServer, startLedgerServer } from "./ledger-server.ts";

/** A ledger server for the length of the test. */
export async function ledgerServer(options: Parameters<typeof startLedgerServer>[0] = {}): Promise<LedgerServer> {
  const server = await startLedgerServer(options);
  onTestFinished(() => server.close());
  return server;
}

/** A source for the length of the test. */
export function mcpSource(url: string, options: Partial<McpSourceOptions> = {}): ToolSource {
  const source = createMcpSource({ url, ...options });
  onTestFinished(() => source.close());
  return source;
}

/** One attempt at `write` with the value 1. */
export function attempt(over: Partial<AttemptRequest> = {}): AttemptRequest {
  return {
    tool: "write",
    argumentsText: '{"value":1}',
    meta: { "codes.rewind/idempotency-key": "run-1/1" },
    signal: AbortSignal.timeout(20_000),
    ...over,
  };
}

/** An answer with structured content, as the ledger server gives it. */
export function structured(text: string): AttemptOutcome {
  return { kind: "answered", result: { isError: false, contentText: "[]", structuredText: text } };
}

/** A TCP server that lives as long as the test and does with each connection what `serve` says. Returns its MCP URL. */
export async function rawServer(serve: (socket: Socket) => void): Promise<string> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => sockets.delete(socket));
    serve(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
}

/** An HTTP server that lives as long as the test. Returns its MCP URL. */
export async function httpServer(
  serve: (request: IncomingMessage, response: ServerResponse, body: string) => void,
): Promise<string> {
  const http = createHttpServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += String(chunk);
    serve(request, response, body);
  });
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    http.closeAllConnections();
    http.close();
  });
  return `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`;
}

/** A server that answers each request with the result given, a number with that status, and undefined not at all. */
export function scriptedServer(
  answer: (method: string, params: Readonly<Record<string, unknown>>) => unknown,
): Promise<string> {
  return httpServer((_request, response, body) => {
    const { id, method, params } = JSON.parse(body) as { id?: number; method: string; params: Record<string, unknown> };
    if (id === undefined) return response.writeHead(202).end();
    const result = answer(method, params);
    if (typeof result === "number") return response.writeHead(result).end();
    if (result === undefined) return undefined;
    response.setHeader("content-type", "application/json");
    return response.end(JSON.stringify({ jsonrpc: "2.0", id, result }));
  });
}

/** Waits until `condition` holds, at most five seconds. */
export async function until(condition: () => boolean): Promise<void> {
  const deadlineMs = performance.now() + 5_000;
  while (!condition()) {
    if (performance.now() > deadlineMs) throw new Error("the awaited condition did not come true in 5 s");
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
