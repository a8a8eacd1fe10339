import type { ServerResponse } from "node:http";
import { type Json, stringifyExact } from "../../src/base/exact-json.ts";
import type { State } from "./ledger-state.ts";

/** Answers a request: as JSON, or on its stream if one is open or wished for. */
export function reply(state: State, response: ServerResponse, id: Json, outcome: string, status = 200): void {
  const text = message(id, outcome);
  if (response.headersSent) return void response.end(event(text));
  if (!state.behaviour.stream || status !== 200) return end(response, status, text, "application/json");
  startStream(response);
  response.end(event(text));
}

/** Opens an SSE stream. */
export function startStream(response: ServerResponse): void {
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
}

/** A response message around an outcome. */
export function message(id: Json, outcome: string): string {
  return `{"jsonrpc":"2.0","id":${stringifyExact(id)},${outcome}}`;
}

/** The outcome of a refused request. */
export function errorText(code: number, text: string, dataText?: string): string {
  const data = dataText === undefined ? "" : `,"data":${dataText}`;
  return `"error":{"code":${code},"message":${JSON.stringify(text)}${data}}`;
}

/** One SSE event. */
export function event(data: string): string {
  return `event: message\ndata: ${data}\n\n`;
}

/** A whole HTTP response. */
export function end(response: ServerResponse, status: number, body: string, contentType: string): void {
  response.writeHead(status, { "content-type": contentType, "content-length": Buffer.byteLength(body) }).end(body);
}
