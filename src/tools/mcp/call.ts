import { type Json, type JsonObject, stringifyExact } from "../../base/exact-json.ts";
import type { AttemptOutcome, AttemptRequest } from "../port.ts";
import type { Connection, Era } from "./connection.ts";
import { HandshakeFailed } from "./handshake.ts";
import type { Reply } from "./judgement.ts";
import { mirroredHeaders } from "./mirrored-headers.ts";
import type { Session } from "./session.ts";
import type { RpcError } from "./wire.ts";
import { isObject, modernEnvelope } from "./wire.ts";

/** Makes one attempt at a tool call and says exactly how it ended (semantics 5). Never rejects. */
export async function callTool(
  connection: Connection,
  session: Session,
  request: AttemptRequest,
  responseBytesMax: number,
): Promise<AttemptOutcome> {
  try {
    const reply = await session.request(request.signal, (era) => sendCall(connection, era, request, responseBytesMax));
    return outcomeOf(reply);
  } catch (error) {
    if (!(error instanceof HandshakeFailed)) throw error;
    if (error.kind === "unauthorized") return { kind: "unauthorized", cause: error.message };
    return { kind: "notSent", cause: error.message, ...retryAfter(error.retryAfterMs) };
  }
}

function sendCall(connection: Connection, era: Era, request: AttemptRequest, bytesMax: number): Promise<Reply> {
  const id = connection.nextId();
  const { onProgress } = request;
  const meta = {
    ...request.meta,
    ...(era.kind === "modern" ? modernEnvelope : {}),
    ...(onProgress ? { progressToken: id } : {}),
  };
  const name = JSON.stringify(request.tool);
  return connection.request(era, id, {
    method: "tools/call",
    name: request.tool,
    // Put together as text, so that the arguments go out with exactly the digits that were recorded.
    paramsText: `{"name":${name},"arguments":${request.argumentsText},"_meta":${stringifyExact(meta)}}`,
    headers: era.kind === "modern" ? mirroredHeaders(request.inputSchema, request.argumentsText) : [],
    bytesMax,
    signal: request.signal,
    onNotification: (method, params) => {
      if (method === "notifications/progress" && params["progressToken"] === id) reportProgress(onProgress, params);
    },
  });
}

function reportProgress(onProgress: AttemptRequest["onProgress"], params: JsonObject): void {
  const { progress, total, message } = params;
  onProgress?.({
    progress: typeof progress === "number" ? progress : 0,
    ...(typeof total === "number" ? { total } : {}),
    ...(typeof message === "string" ? { message } : {}),
  });
}

function outcomeOf(reply: Reply): AttemptOutcome {
  switch (reply.kind) {
    case "answer":
      return reply.answer.kind === "error" ? protocolError(reply.answer.error) : readResult(reply.answer.result);
    case "tooLarge":
      return { kind: "tooLarge" };
    case "unauthorized":
      return { kind: "unauthorized", cause: reply.cause };
    case "interrupted":
      return { kind: "interrupted", cause: reply.cause, ...retryAfter(reply.retryAfterMs) };
    case "notSent":
      return { kind: "notSent", cause: reply.cause, ...retryAfter(reply.retryAfterMs) };
    case "sessionLost":
      return { kind: "notSent", cause: reply.cause };
  }
}

function protocolError(error: RpcError): AttemptOutcome {
  return {
    kind: "protocolError",
    rpcCode: error.code,
    message: error.message,
    ...(error.data === undefined ? {} : { dataText: stringifyExact(error.data) }),
  };
}

function readResult(result: Json): AttemptOutcome {
  if (!isObject(result)) return { kind: "unreadable", cause: "the result is no object" };
  const { resultType, content, structuredContent, isError, _meta } = result;
  if (resultType === "input_required") return readQuestions(result);
  if (resultType !== undefined && resultType !== null && resultType !== "complete") {
    return { kind: "unreadable", cause: `the result is of a kind that was not asked for: ${String(resultType)}` };
  }
  if (content !== undefined && content !== null && !Array.isArray(content)) {
    return { kind: "unreadable", cause: "the result's content is no list" };
  }
  return {
    kind: "answered",
    result: {
      isError: isError === true,
      contentText: stringifyExact(content ?? []),
      ...(structuredContent === undefined ? {} : { structuredText: stringifyExact(structuredContent) }),
      ...(_meta === undefined ? {} : { metaText: stringifyExact(_meta) }),
    },
  };
}

function readQuestions(result: JsonObject): AttemptOutcome {
  const { inputRequests, requestState } = result;
  return {
    kind: "inputRequired",
    requestsText: stringifyExact(inputRequests ?? {}),
    ...(typeof requestState === "string" ? { requestState } : {}),
  };
}

function retryAfter(retryAfterMs: number | undefined): { readonly retryAfterMs?: number } {
  return retryAfterMs === undefined ? {} : { retryAfterMs };
}
