import { HoldpointError } from "../../base/errors.ts";
import { type Json, type JsonObject, stringifyExact } from "../../base/exact-json.ts";
import type { ToolListing } from "../port.ts";
import type { Connection, Era } from "./connection.ts";
import { HandshakeFailed, replyCause } from "./handshake.ts";
import type { Reply } from "./judgement.ts";
import type { Session } from "./session.ts";
import { isObject, methodNotFoundCode, modernEnvelope } from "./wire.ts";

/** Bounds of one listing (semantics 1.1, 1.10). */
const pagesMax = 1_000;
const toolsMax = 10_000;
const listingBytesMax = 32 * 1024 * 1024;

interface Page {
  readonly tools: readonly Json[];
  readonly nextCursor: string | undefined;
  readonly ttlMs: number | undefined;
}

/**
 * Lists all tools of a server, page by page.
 * @param server how the server is called in messages.
 * @throws HoldpointError ServerUnreachable, AuthenticationFailed, PagingLoop
 */
export async function listTools(
  connection: Connection,
  session: Session,
  server: string,
  signal: AbortSignal,
): Promise<ToolListing> {
  const tools: Json[] = [];
  const followed = new Set<string>();
  const met: { era?: Era; bytes: number; ttlMs?: number } = { bytes: 0 };
  let cursor: string | undefined;
  for (let page = 0; page < pagesMax; page++) {
    const current = await requestPage(connection, session, server, cursor, met, signal);
    tools.push(...current.tools);
    if (tools.length > toolsMax) throw pagingLoop(server, `it has more than ${toolsMax} tools`);
    if (current.ttlMs !== undefined) met.ttlMs = Math.min(met.ttlMs ?? Infinity, current.ttlMs);
    if (current.nextCursor === undefined) return summed(met, tools);
    if (followed.has(current.nextCursor)) throw pagingLoop(server, "a cursor came back that was already followed");
    followed.add(current.nextCursor);
    cursor = current.nextCursor;
  }
  throw pagingLoop(server, `it has more than ${pagesMax} pages`);
}

function summed(met: { era?: Era; ttlMs?: number }, tools: readonly Json[]): ToolListing {
  return {
    protocol: met.era?.protocol ?? "",
    tools,
    ...(met.era?.serverInfo ? { serverInfo: met.era.serverInfo } : {}),
    ...(met.ttlMs === undefined ? {} : { ttlMs: met.ttlMs }),
  };
}

async function requestPage(
  connection: Connection,
  session: Session,
  server: string,
  cursor: string | undefined,
  met: { era?: Era; bytes: number },
  signal: AbortSignal,
): Promise<Page> {
  const at = cursor === undefined ? {} : { cursor };
  const reply = await session
    .request(signal, (era) => {
      met.era = era;
      return connection.request(era, connection.nextId(), {
        method: "tools/list",
        paramsText: stringifyExact(era.kind === "modern" ? { ...at, _meta: modernEnvelope } : at),
        bytesMax: listingBytesMax - met.bytes,
        signal,
      });
    })
    .catch((error: unknown) => {
      throw handshakeError(server, error);
    });
  if (reply.kind === "answer") met.bytes += reply.bytes;
  return readPage(server, reply, met.era);
}

function readPage(server: string, reply: Reply, era: Era | undefined): Page {
  if (reply.kind === "tooLarge") throw pagingLoop(server, "it has more than 32 MiB");
  if (reply.kind === "unauthorized") throw new HoldpointError("AuthenticationFailed", `${server}: ${reply.cause}`);
  if (reply.kind !== "answer") throw unreachable(server, reply.cause);
  if (reply.answer.kind === "error") {
    // A server that declares no tools has none; one that declares them owes a listing.
    const none = reply.answer.error.code === methodNotFoundCode && era?.capabilities["tools"] === undefined;
    if (none) return { tools: [], nextCursor: undefined, ttlMs: undefined };
    throw unreachable(server, replyCause(reply, "tools/list"));
  }
  const { result } = reply.answer;
  if (!isObject(result) || !Array.isArray(result["tools"])) throw unreachable(server, replyCause(reply, "tools/list"));
  return { tools: result["tools"], nextCursor: readCursor(server, result), ttlMs: readTtl(result) };
}

/** Only an absent or null cursor ends a listing; an empty one is a cursor. */
function readCursor(server: string, result: JsonObject): string | undefined {
  const cursor = result["nextCursor"] ?? undefined;
  if (cursor === undefined || typeof cursor === "string") return cursor;
  throw unreachable(server, "a cursor of its listing is no text");
}

function readTtl(result: JsonObject): number | undefined {
  const { ttlMs } = result;
  return typeof ttlMs === "number" && ttlMs >= 0 ? ttlMs : undefined;
}

function handshakeError(server: string, error: unknown): unknown {
  if (!(error instanceof HandshakeFailed)) return error;
  return error.kind === "unauthorized"
    ? new HoldpointError("AuthenticationFailed", `${server}: ${error.message}`)
    : unreachable(server, error.message);
}

function unreachable(server: string, cause: string): HoldpointError {
  return new HoldpointError("ServerUnreachable", `${server}: ${cause}`);
}

function pagingLoop(server: string, why: string): HoldpointError {
  return new HoldpointError("PagingLoop", `${server}: the listing is given up, as ${why}`);
}
