import type { IncomingMessage, ServerResponse } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { type Json, type JsonObject, stringifyExact } from "../../src/base/exact-json.ts";
import { type Fault, takeFault } from "./ledger-behaviour.ts";
import { end, errorText, event, message, reply, startStream } from "./ledger-replies.ts";
import type { State } from "./ledger-state.ts";

const idempotencyKey = "codes.rewind/idempotency-key";

/** Serves one `tools/call`: its fault, its effect, its answer. */
export async function serveCall(
  state: State,
  request: IncomingMessage,
  response: ServerResponse,
  id: Json,
  params: JsonObject,
  isModern: boolean,
): Promise<void> {
  const tool = String(params["name"]);
  const meta = (params["_meta"] ?? {}) as JsonObject;
  state.seen.lastHeaders = request.headers;
  state.seen.lastMeta = meta;
  response.once("close", () => {
    if (!response.writableFinished) state.seen.closedByClient += 1;
  });
  const fault = takeFault(state.behaviour, tool);
  if (fault?.kind === "dropBefore") return void request.socket.destroy();
  if (fault?.kind === "status") {
    for (const [name, value] of Object.entries(fault.headers ?? {})) response.setHeader(name, value);
    return end(response, fault.status, fault.body ?? "", "text/plain");
  }
  if (fault?.kind === "holdBefore") await state.hold();
  if (fault?.kind === "delay") await delay(fault.ms);
  if (fault?.kind === "error") return reply(state, response, id, errorText(fault.code, fault.message));
  const resultText = perform(state, tool, String(meta[idempotencyKey] ?? ""), params["arguments"], fault, isModern);
  if (fault?.kind === "dropAfter") return void request.socket.destroy();
  if (fault?.kind === "cutAnswer") return cutAnswer(response);
  if (fault?.kind === "hold") await state.hold();
  if (fault?.kind === "raw") return end(response, 200, fault.body, fault.contentType ?? "application/json");
  if (fault?.kind === "endStream")
    return endEarly(state, response, fault.eventId, message(id, `"result":${resultText}`));
  if (fault?.kind === "progress") await sendProgress(response, fault, meta["progressToken"]);
  return reply(state, response, id, `"result":${resultText}`);
}

/** The effect, once per key, entered into the ledger. Returns the result's text. */
function perform(
  state: State,
  tool: string,
  key: string,
  args: Json | undefined,
  fault: Fault | undefined,
  isModern: boolean,
): string {
  const { ledger, behaviour } = state;
  const original = behaviour.deduplicates ? ledger.original(key) : undefined;
  const argumentsText = stringifyExact(args ?? {});
  const effects = ledger.entries.filter((entry) => entry.effect).length + 1;
  const fallback = `{${isModern ? `"resultType":"complete",` : ""}"content":[],"structuredContent":{"effect":${effects},"arguments":${argumentsText}}}`;
  const chosen = fault?.kind === "result" ? fault.resultText : (behaviour.results[tool] ?? fallback);
  const resultText = original?.resultText ?? chosen;
  ledger.record({ atMs: Date.now(), tool, key, argumentsText, effect: !original, resultText });
  return resultText;
}

function cutAnswer(response: ServerResponse): void {
  response.writeHead(200, { "content-type": "application/json", "content-length": 500 });
  response.write('{"jsonrpc":"2.0",', () => response.socket?.resetAndDestroy());
}

async function sendProgress(
  response: ServerResponse,
  fault: Extract<Fault, { kind: "progress" }>,
  token: Json | undefined,
): Promise<void> {
  startStream(response);
  for (let progress = 1; progress <= fault.count && token !== undefined; progress++) {
    const params = { progressToken: token, progress, total: fault.count, message: `step ${progress}` };
    response.write(event(`{"jsonrpc":"2.0","method":"notifications/progress","params":${stringifyExact(params)}}`));
    await delay(fault.everyMs);
  }
}

function endEarly(state: State, response: ServerResponse, eventId: string | undefined, rest: string): void {
  startStream(response);
  if (eventId !== undefined) state.resumable.set(eventId, rest);
  response.end(eventId === undefined ? ": nothing\n\n" : `id: ${eventId}\nretry: 20\ndata: \n\n`);
}
