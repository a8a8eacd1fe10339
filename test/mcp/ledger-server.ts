import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { parseArgs } from "node:util";
import { type JsonObject, parseExact, stringifyExact } from "../../src/base/exact-json.ts";
import { Ledger } from "./ledger.ts";
import { type Behaviour, defaultBehaviour } from "./ledger-behaviour.ts";
import { serveCall } from "./ledger-call.ts";
import { end, errorText, event, message, reply, startStream } from "./ledger-replies.ts";
import { type Seen, State } from "./ledger-state.ts";

const modern = "2026-07-28";

export interface LedgerServer {
  /** Where it speaks MCP, such as `http://127.0.0.1:41234/mcp`. */
  readonly url: string;
  /** Where another process controls it: GET answers `ControlState`, POST takes a `ControlCommand`. */
  readonly controlUrl: string;
  readonly ledger: Ledger;
  readonly behaviour: Behaviour;
  /** What was seen besides calls. */
  readonly seen: Seen;
  /** Calls that reached a `hold` and wait. */
  waiting(): number;
  /** Lets the calls that wait go on. */
  release(): void;
  /** Forgets all sessions, as a restarted server does. */
  forgetSessions(): void;
  close(): Promise<void>;
}

export type ControlCommand = Partial<Behaviour> & { readonly release?: boolean; readonly forgetSessions?: boolean };
export interface ControlState {
  readonly entries: Ledger["entries"];
  readonly effects: Record<string, number>;
  readonly waiting: number;
  readonly seen: Seen;
}

/** A lean MCP server over raw HTTP for both protocols, which keeps a ledger of effects and fails on demand. */
export async function startLedgerServer(
  options: Partial<Behaviour> & { readonly port?: number; readonly ledgerFile?: string } = {},
): Promise<LedgerServer> {
  const { port, ledgerFile, ...behaviour } = options;
  const state = new State(new Ledger(ledgerFile), { ...defaultBehaviour(), ...behaviour });
  const http = createServer((request, response) => {
    serve(state, request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => http.listen(port ?? 0, "127.0.0.1", resolve));
  const origin = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  return {
    url: `${origin}/mcp`,
    controlUrl: `${origin}/control`,
    ledger: state.ledger,
    behaviour: state.behaviour,
    seen: state.seen,
    waiting: () => state.held.size,
    release: () => state.release(),
    forgetSessions: () => state.sessions.clear(),
    close: () => closeServer(http),
  };
}

async function serve(state: State, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = await readBody(request);
  if (request.url === "/control") return control(state, request, response, body);
  if (request.url !== "/mcp") return end(response, 404, "no such path", "text/plain");
  const { behaviour } = state;
  const sessionId = request.headers["mcp-session-id"];
  if (typeof sessionId === "string" && !state.sessions.has(sessionId)) return refuseSession(state, response);
  if (request.method === "DELETE") {
    state.sessions.delete(String(sessionId));
    return end(response, 200, "", "text/plain");
  }
  if (request.method === "GET") return resume(state, request, response);
  const message = parseExact(body) as JsonObject;
  const { id, method } = message;
  if (typeof method !== "string") state.seen.clientAnswers.push(message);
  if (id === undefined || typeof method !== "string") {
    const params = message["params"] as JsonObject | undefined;
    if (method === "notifications/cancelled") state.seen.cancelledIds.push(params?.["requestId"] ?? null);
    return end(response, 202, "", "text/plain");
  }
  state.seen.methods[method] = (state.seen.methods[method] ?? 0) + 1;
  const isModern = request.headers["mcp-protocol-version"] === modern;
  if (isModern && behaviour.eras === "legacy") return refuseModern(state, response, message);
  if (!isModern && behaviour.eras === "modern") {
    return reply(
      state,
      response,
      id,
      errorText(-32022, "unsupported", `{"supported":["${modern}"],"requested":""}`),
      400,
    );
  }
  if (!isModern && behaviour.sessions && method !== "initialize" && sessionId === undefined) {
    return refuseSession(state, response);
  }
  await answer(state, request, response, message, isModern);
}

async function answer(
  state: State,
  request: IncomingMessage,
  response: ServerResponse,
  message: JsonObject,
  isModern: boolean,
): Promise<void> {
  const { id = null, method, params = {} } = message;
  const info = `{"name":"ledger","version":"1"}`;
  if (method === "server/discover") {
    const meta = `{"io.modelcontextprotocol/serverInfo":${info}}`;
    const versions = stringifyExact([modern, ...(state.behaviour.eras === "both" ? ["2025-11-25"] : [])]);
    const text = `{"resultType":"complete","supportedVersions":${versions},"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private","_meta":${meta}}`;
    return reply(state, response, id, `"result":${text}`);
  }
  if (method === "initialize") {
    if (state.behaviour.sessions) {
      const sessionId = randomUUID();
      state.sessions.add(sessionId);
      response.setHeader("mcp-session-id", sessionId);
    }
    const text = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":${info}}`;
    return reply(state, response, id, `"result":${text}`);
  }
  if (method === "tools/list") {
    return reply(state, response, id, `"result":${listingText(state.behaviour, params as JsonObject, isModern)}`);
  }
  if (method === "tools/call") return serveCall(state, request, response, id, params as JsonObject, isModern);
  return reply(state, response, id, errorText(-32601, "no such method"), isModern ? 404 : 200);
}

function listingText(behaviour: Behaviour, params: JsonObject, isModern: boolean): string {
  const { paging, tools, ttlMs } = behaviour;
  const extra = isModern ? { resultType: "complete", ttlMs, cacheScope: "private" } : {};
  if (paging === "endless") return stringifyExact({ ...extra, tools, nextCursor: "p1" });
  const start = Number(params["cursor"] ?? 0);
  const next = start + paging;
  const cursor = next < tools.length ? { nextCursor: String(next) } : {};
  return stringifyExact({ ...extra, tools: tools.slice(start, next), ...cursor });
}

function resume(state: State, request: IncomingMessage, response: ServerResponse): void {
  const rest = state.resumable.get(String(request.headers["last-event-id"] ?? ""));
  if (rest === undefined) return end(response, 405, "", "text/plain");
  startStream(response);
  response.end(event(rest));
}

function refuseSession(state: State, response: ServerResponse): void {
  const body = `{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: No valid session ID provided"},"id":null}`;
  end(response, state.behaviour.unknownSession, body, "application/json");
}

function refuseModern(state: State, response: ServerResponse, request: JsonObject): void {
  const { id = null, method } = request;
  switch (state.behaviour.refusal) {
    case "methodNotFound":
      return reply(state, response, id, errorText(-32601, "Method not found"));
    case "invalidParams":
      return reply(state, response, id, errorText(-32602, "Invalid request parameters"));
    case "http400":
      return end(response, 400, "Bad Request", "text/plain");
    case "version400": {
      const text = "Bad Request: Unsupported protocol version: 2026-07-28";
      return end(response, 400, message(null, errorText(-32000, text)), "application/json");
    }
    case "html":
      return end(response, 200, "<html>hello</html>", "text/html");
    case "discover200":
      if (method !== "server/discover") return reply(state, response, id, errorText(-32600, "unexpected"));
      return reply(state, response, id, `"result":{"supportedVersions":["2025-11-25"],"capabilities":{}}`);
  }
}

function control(state: State, request: IncomingMessage, response: ServerResponse, body: string): void {
  if (request.method === "POST") {
    const { release, forgetSessions, ...changes } = JSON.parse(body) as ControlCommand;
    Object.assign(state.behaviour, changes);
    if (release) state.release();
    if (forgetSessions) state.sessions.clear();
  }
  const { ledger, held, seen } = state;
  const now: ControlState = { entries: ledger.entries, effects: ledger.effects(), waiting: held.size, seen };
  end(response, 200, stringifyExact(now), "application/json");
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
}

function closeServer(http: Server): Promise<void> {
  return new Promise((resolve) => {
    http.close(() => resolve());
    http.closeAllConnections();
  });
}

/** As a process of its own: `node test/mcp/ledger-server.ts --port 0 --ledger FILE`, which prints its URL. */
if (import.meta.main) {
  const { values } = parseArgs({ options: { port: { type: "string" }, ledger: { type: "string" } } });
  const server = await startLedgerServer({
    port: Number(values.port ?? 0),
    ...(values.ledger === undefined ? {} : { ledgerFile: values.ledger }),
  });
  process.stdout.write(`${server.url}\n`);
}
