import { type Json, type JsonObject, stringifyExact } from "../../base/exact-json.ts";
import type { Connection, Era } from "./connection.ts";
import type { Reply } from "./judgement.ts";
import {
  initializeParamsText,
  isObject,
  legacyProtocol,
  legacyProtocols,
  modernEnvelope,
  modernProtocol,
  serverInfoKey,
} from "./wire.ts";

/** Which protocol to speak: `Auto` tries the modern one first. */
export type ProtocolChoice = "Auto" | typeof modernProtocol | typeof legacyProtocol;

/** The server could not be brought to speak: no tool can have run. */
export class HandshakeFailed extends Error {
  override readonly name = "HandshakeFailed";
  readonly kind: "unauthorized" | "notSent";
  readonly retryAfterMs: number | undefined;

  constructor(kind: "unauthorized" | "notSent", cause: string, retryAfterMs?: number) {
    super(cause);
    this.kind = kind;
    this.retryAfterMs = retryAfterMs;
  }
}

const handshakeBytesMax = 4 * 1024 * 1024;
/** Some older servers never answer a method they do not know. */
const probeTimeoutMs = 10_000;
/** The server is there and busy, or its gateway finds it not: the other protocol would fare no better. */
const hopelessStatuses = new Set([429, 502, 503, 504]);

/** Agrees on a protocol with the server. @throws HandshakeFailed */
export async function shakeHands(connection: Connection, choice: ProtocolChoice, signal: AbortSignal): Promise<Era> {
  if (choice === legacyProtocol) return initialize(connection, signal);
  const offered = await discover(connection, choice, signal);
  if (offered) return offered;
  if (choice === "Auto") return initialize(connection, signal);
  throw new HandshakeFailed("notSent", `the server does not speak ${modernProtocol}; set protocol to Auto`);
}

/** Asks for the modern protocol. `undefined`: the server is there, and most likely speaks an older one. */
async function discover(connection: Connection, choice: ProtocolChoice, signal: AbortSignal): Promise<Era | undefined> {
  const era: Era = { kind: "modern", protocol: modernProtocol, capabilities: {} };
  let reply = await probe(connection, era, signal);
  // A server in between versions refuses the protocol and offers it in the same breath: it is asked once more.
  if (reply.kind === "sessionLost" && reply.supportedProtocols?.includes(modernProtocol)) {
    reply = await probe(connection, era, signal);
  }
  if (reply.kind === "answer" && reply.answer.kind === "result" && isObject(reply.answer.result)) {
    const { supportedVersions, capabilities, serverInfo, _meta } = reply.answer.result;
    if (!Array.isArray(supportedVersions) || !supportedVersions.includes(modernProtocol)) return undefined;
    const info = readServerInfo(isObject(_meta) ? (_meta[serverInfoKey] ?? serverInfo) : serverInfo);
    return { ...era, capabilities: isObject(capabilities) ? capabilities : {}, ...info };
  }
  const unreachable = reply.kind === "notSent" && reply.status === 0;
  const final = unreachable || reply.kind === "unauthorized" || hopelessStatuses.has(reply.status) || signal.aborted;
  if (final || (choice !== "Auto" && reply.kind !== "answer")) throw failure(reply, "server/discover");
  return undefined;
}

function probe(connection: Connection, era: Era, signal: AbortSignal): Promise<Reply> {
  return connection.request(era, connection.nextId(), {
    method: "server/discover",
    paramsText: stringifyExact({ _meta: modernEnvelope }),
    bytesMax: handshakeBytesMax,
    signal: AbortSignal.any([signal, AbortSignal.timeout(probeTimeoutMs)]),
  });
}

/** The handshake of the older protocols, which may open a session. */
async function initialize(connection: Connection, signal: AbortSignal): Promise<Era> {
  const stranger: Era = { kind: "legacy", protocol: legacyProtocol, capabilities: {} };
  const reply = await connection.request(stranger, connection.nextId(), {
    method: "initialize",
    paramsText: initializeParamsText,
    bytesMax: handshakeBytesMax,
    signal,
  });
  if (reply.kind !== "answer" || reply.answer.kind !== "result" || !isObject(reply.answer.result)) {
    throw failure(reply, "initialize");
  }
  const { protocolVersion, capabilities, serverInfo } = reply.answer.result;
  if (typeof protocolVersion !== "string" || !legacyProtocols.includes(protocolVersion)) {
    throw new HandshakeFailed(
      "notSent",
      `the server speaks none of ${[modernProtocol, ...legacyProtocols].join(", ")}`,
    );
  }
  const era: Era = {
    kind: "legacy",
    protocol: protocolVersion,
    capabilities: isObject(capabilities) ? capabilities : {},
    ...readServerInfo(serverInfo),
    ...(reply.sessionId === undefined ? {} : { sessionId: reply.sessionId }),
  };
  await connection.notify(era, "notifications/initialized", {}, signal);
  return era;
}

function readServerInfo(info: Json | undefined): Pick<Era, "serverInfo"> {
  if (!isObject(info)) return {};
  return { serverInfo: { name: textOf(info, "name"), version: textOf(info, "version") } };
}

function textOf(object: JsonObject, key: string): string {
  const value = object[key];
  return typeof value === "string" ? value : "";
}

function failure(reply: Reply, method: string): HandshakeFailed {
  const kind = reply.kind === "unauthorized" ? "unauthorized" : "notSent";
  return new HandshakeFailed(kind, replyCause(reply, method), "retryAfterMs" in reply ? reply.retryAfterMs : undefined);
}

/** A reply that is no success, in words. */
export function replyCause(reply: Reply, method: string): string {
  if (reply.kind === "tooLarge") return `the answer to ${method} is too large (${reply.bytes} bytes)`;
  if (reply.kind !== "answer") return reply.cause;
  if (reply.answer.kind === "result") return `the answer to ${method} cannot be read`;
  return `the server answered ${method} with JSON-RPC error ${reply.answer.error.code}: ${reply.answer.error.message}`;
}
