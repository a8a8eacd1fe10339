import type { Clock } from "../../base/clock.ts";
import { type JsonObject, stringifyExact } from "../../base/exact-json.ts";
import { abortCause, type HttpLane, type LaneEnd, type LaneRequest } from "./http-lane.ts";
import { judge, type Reply } from "./judgement.ts";
import { headerValue } from "./mirrored-headers.ts";
import { ReplyReader } from "./reply.ts";
import { type Incoming, methodNotFoundCode, modernProtocol, requestText } from "./wire.ts";

/** How the server is spoken to: the outcome of a handshake. A new handshake makes a new object. */
export interface Era {
  readonly kind: "modern" | "legacy";
  readonly protocol: string;
  readonly sessionId?: string;
  readonly serverInfo?: { readonly name: string; readonly version: string };
  readonly capabilities: JsonObject;
}

/** One JSON-RPC request. */
export interface RpcRequest {
  readonly method: string;
  /** Exact JSON text of the parameters, with their `_meta`. */
  readonly paramsText: string;
  /** What the `Mcp-Name` header mirrors: the tool's name. */
  readonly name?: string;
  /** More headers, names and values one after another. */
  readonly headers?: readonly string[];
  readonly bytesMax: number;
  readonly signal: AbortSignal;
  readonly onNotification?: (method: string, params: JsonObject) => void;
}

export interface ConnectionOptions {
  readonly headers: Readonly<Record<string, string>>;
  readonly clock: Clock;
}

const resumptionsMax = 10;
const resumeAfterMsDefault = 500;
const resumeAfterMsMax = 30_000;
const controlTimeoutMs = 10_000;
const controlBytesMax = 64 * 1024;

/** JSON-RPC over streamable HTTP, for both protocols: one request out, one judged reply back. Keeps no session itself. */
export class Connection {
  readonly #lane: HttpLane;
  readonly #clock: Clock;
  readonly #headers: readonly string[];
  #lastId = 0;

  constructor(lane: HttpLane, options: ConnectionOptions) {
    this.#lane = lane;
    this.#clock = options.clock;
    this.#headers = Object.entries(options.headers)
      .map(([name, value]) => [name.toLowerCase(), value] as const)
      .filter(([name]) => !ownHeaders.test(name))
      .flat();
  }

  /** An id that no other request of this connection has, for the request and its progress token. */
  nextId(): number {
    this.#lastId += 1;
    return this.#lastId;
  }

  /** Sends a request and waits for its answer, resuming a lost stream where the protocol can. Never rejects. */
  async request(era: Era, id: number, request: RpcRequest): Promise<Reply> {
    const reader = new ReplyReader({
      id,
      bytesMax: request.bytesMax,
      onMessage: (message) => this.#besides(era, message, request),
    });
    const body = requestText(id, request.method, request.paramsText);
    const headers = [...this.#standardHeaders(era, request.method, request.name), ...(request.headers ?? [])];
    const { signal } = request;
    let end = await this.#lane.exchange({ method: "POST", headers, body, signal }, reader);
    if (end.kind !== "notSent") end = await this.#resume(era, reader, end, signal);
    if (end.kind === "done") reader.finish();
    if (signal.aborted && end.kind === "lost") this.#cancel(era, id, request.method, signal);
    return judge({ era: era.kind, sessionId: era.sessionId }, reader, end, this.#clock);
  }

  /** Sends a notification. Resolves when the server took it, or did not: nothing depends on it. */
  async notify(era: Era, method: string, params: JsonObject, signal?: AbortSignal): Promise<void> {
    const body = `{"jsonrpc":"2.0","method":${JSON.stringify(method)},"params":${stringifyExact(params)}}`;
    await this.#control(era, { method: "POST", body }, method, signal);
  }

  /** Tells the server that the session is not needed any more. */
  async endSession(era: Era): Promise<void> {
    if (era.sessionId !== undefined) await this.#control(era, { method: "DELETE" });
  }

  async #control(
    era: Era,
    message: Pick<LaneRequest, "method" | "body">,
    method?: string,
    signal?: AbortSignal,
  ): Promise<void> {
    const deadline = AbortSignal.timeout(controlTimeoutMs);
    await this.#lane.exchange(
      {
        ...message,
        headers: this.#standardHeaders(era, method),
        signal: signal ? AbortSignal.any([signal, deadline]) : deadline,
        control: true,
      },
      new ReplyReader({ id: 0, bytesMax: controlBytesMax }),
    );
  }

  /** GETs the rest of a stream that ended before its answer, as long as the server numbers its events (semantics 5.3). */
  async #resume(era: Era, reader: ReplyReader, first: LaneEnd, signal: AbortSignal): Promise<LaneEnd> {
    let end = first;
    for (let attempt = 0; attempt < resumptionsMax; attempt++) {
      const unanswered = !reader.answer && reader.fault === undefined && reader.tooLargeBytes === undefined;
      const { lastEventId } = reader;
      if (era.kind === "modern" || !unanswered || !reader.isStream || lastEventId === undefined || signal.aborted)
        break;
      await pause(Math.min(reader.resumeAfterMs ?? resumeAfterMsDefault, resumeAfterMsMax), signal);
      if (signal.aborted) return { kind: "lost", cause: abortCause(signal) };
      const headers = [...this.#standardHeaders(era), "last-event-id", lastEventId];
      end = await this.#lane.exchange({ method: "GET", headers, signal }, reader);
      // Whatever became of the resumption, the request itself was sent long ago.
      if (end.kind === "notSent") end = { kind: "lost", cause: `the stream could not be resumed: ${end.cause}` };
      else if (!reader.isStream)
        return { kind: "lost", cause: `the stream could not be resumed: HTTP ${reader.status}` };
    }
    return end;
  }

  /** What a stream carries besides the answer: progress, and questions of older servers, none of which is served but ping. */
  #besides(era: Era, message: Incoming, request: RpcRequest): void {
    if (message.kind === "notification") request.onNotification?.(message.method, message.params);
    if (message.kind !== "request" || era.kind === "modern") return;
    const id = stringifyExact(message.id);
    const outcome =
      message.method === "ping"
        ? `"result":{}`
        : `"error":{"code":${methodNotFoundCode},"message":"Not supported by this client"}`;
    void this.#control(era, { method: "POST", body: `{"jsonrpc":"2.0","id":${id},${outcome}}` });
  }

  /** Under the modern protocol the closed stream is the cancellation; older ones want to be told. */
  #cancel(era: Era, requestId: number, method: string, signal: AbortSignal): void {
    if (era.kind === "modern" || method === "initialize") return;
    void this.notify(era, "notifications/cancelled", { requestId, reason: abortCause(signal) });
  }

  #standardHeaders(era: Era, method?: string, name?: string): string[] {
    const headers = ["content-type", "application/json", "accept", "application/json, text/event-stream"];
    headers.push("user-agent", "holdpoint");
    if (method !== "initialize") headers.push("mcp-protocol-version", era.protocol);
    if (era.sessionId !== undefined) headers.push("mcp-session-id", era.sessionId);
    if (era.protocol === modernProtocol && method !== undefined) headers.push("mcp-method", method);
    if (era.protocol === modernProtocol && name !== undefined) headers.push("mcp-name", headerValue(name));
    headers.push(...this.#headers);
    return headers;
  }
}

/** Headers that are the protocol's own and no configuration's. */
const ownHeaders = /^(mcp-.*|content-type|content-length|accept|host|connection|transfer-encoding|last-event-id)$/;

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener("abort", done, { once: true });
  });
}
