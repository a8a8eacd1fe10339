import { type Json, type JsonObject, parseExact, stringifyExact } from "../../base/exact-json.ts";

/** The protocol in which every request stands alone. */
export const modernProtocol = "2026-07-28";
/** The protocol with a handshake and, if the server wants them, sessions. */
export const legacyProtocol = "2025-11-25";
/** What a server may answer to `initialize`; all of them list and call tools alike. */
export const legacyProtocols: readonly string[] = [legacyProtocol, "2025-06-18", "2025-03-26", "2024-11-05"];

const clientInfo = { name: "holdpoint", version: "0.1.0" } as const;

/** The `_meta` entries with which each request of the modern protocol introduces itself. */
export const modernEnvelope: Readonly<Record<string, unknown>> = {
  "io.modelcontextprotocol/protocolVersion": modernProtocol,
  "io.modelcontextprotocol/clientCapabilities": {},
  "io.modelcontextprotocol/clientInfo": clientInfo,
};
export const serverInfoKey = "io.modelcontextprotocol/serverInfo";

/** JSON-RPC code of a server that does not speak the protocol of the request. */
export const unsupportedProtocolCode = -32022;
export const methodNotFoundCode = -32601;

/** The text of a request. `paramsText` is exact JSON text. */
export function requestText(id: number, method: string, paramsText: string): string {
  return `{"jsonrpc":"2.0","id":${id},"method":${JSON.stringify(method)},"params":${paramsText}}`;
}

/** Parameters of `initialize`. No capability is declared: nothing a server could ask for is served (semantics 7.4). */
export const initializeParamsText = stringifyExact({
  protocolVersion: legacyProtocol,
  capabilities: {},
  clientInfo,
});

/** A message of the server, as far as this client tells them apart. */
export type Incoming =
  | { readonly kind: "result"; readonly id: Json; readonly result: Json }
  | { readonly kind: "error"; readonly id: Json; readonly error: RpcError }
  | { readonly kind: "request"; readonly id: string | number; readonly method: string }
  | { readonly kind: "notification"; readonly method: string; readonly params: JsonObject }
  | { readonly kind: "malformed" };

export interface RpcError {
  readonly code: number;
  readonly message: string;
  readonly data?: Json;
}

/** Whether a JSON value is an object (no array, no null). */
export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Reads the messages of a JSON body or of one SSE event: one, or a batch of older servers. Never throws. */
export function readMessages(text: string): Incoming[] {
  let value: Json;
  try {
    value = parseExact(text);
  } catch {
    return [{ kind: "malformed" }];
  }
  return Array.isArray(value) ? value.map(readMessage) : [readMessage(value)];
}

function readMessage(value: Json): Incoming {
  if (!isObject(value)) return { kind: "malformed" };
  const { id, method } = value;
  if (typeof method === "string") {
    if (typeof id === "string" || typeof id === "number") return { kind: "request", id, method };
    return { kind: "notification", method, params: isObject(value["params"]) ? value["params"] : {} };
  }
  if (isObject(value["error"])) return { kind: "error", id: id ?? null, error: readError(value["error"]) };
  if (value["result"] !== undefined) return { kind: "result", id: id ?? null, result: value["result"] };
  return { kind: "malformed" };
}

function readError(error: JsonObject): RpcError {
  const { code, message, data } = error;
  return {
    code: typeof code === "number" ? code : 0,
    message: typeof message === "string" ? message : "The server gave no message.",
    ...(data === undefined ? {} : { data }),
  };
}
