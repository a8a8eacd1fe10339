import type { Clock } from "../../base/clock.ts";
import type { Json } from "../../base/exact-json.ts";
import type { LaneEnd } from "./http-lane.ts";
import type { Answer, ReplyReader } from "./reply.ts";
import { isObject, unsupportedProtocolCode } from "./wire.ts";

/** How one request to the server ended, whatever its method. `status` is 0 when no response came. */
export type Reply = { readonly status: number } & (
  | { readonly kind: "answer"; readonly answer: Answer; readonly bytes: number; readonly sessionId?: string }
  /** The server does not know this session or protocol any more: it looked no further (semantics 5.3). */
  | { readonly kind: "sessionLost"; readonly cause: string; readonly supportedProtocols?: readonly Json[] }
  | { readonly kind: "unauthorized"; readonly cause: string }
  | { readonly kind: "notSent"; readonly cause: string; readonly retryAfterMs?: number }
  | { readonly kind: "interrupted"; readonly cause: string; readonly retryAfterMs?: number }
  | { readonly kind: "tooLarge"; readonly bytes: number }
);

/** What of the request matters for the judgement. */
export interface Asked {
  readonly era: "modern" | "legacy";
  readonly sessionId?: string | undefined;
}

/** Statuses with which gateways say that somebody behind them may have taken the request and not answered. */
const unknownStatuses = new Set([408, 499]);
const tooManyRequests = 429;
/** How servers say that they do not know a session or protocol: the wording differs, the words do not. */
const sessionWords = /session|initialize|protocol version/i;

/**
 * Tells exactly how a request ended (semantics 5.1, 5.3, 5.4): answered, refused before anybody looked at it, or unknown.
 * Pure. No text of a body comes into a cause, as servers repeat credentials there.
 */
export function judge(asked: Asked, reader: ReplyReader, end: LaneEnd, clock: Clock): Reply {
  const { status } = reader;
  if (end.kind === "notSent") return { kind: "notSent", status: 0, cause: end.cause };
  if (reader.tooLargeBytes !== undefined) return { kind: "tooLarge", status, bytes: reader.tooLargeBytes };
  const answer = reader.answer ?? (status < 500 ? reader.anonymousError : undefined);
  if (end.kind === "lost" && !answer) return { kind: "interrupted", status, cause: lostCause(reader, end.cause) };
  if (status >= 200 && status < 300) return judgeSuccess(asked, reader, answer);
  const retry = retryAfter(reader, clock);
  if (status === tooManyRequests) return { kind: "notSent", status, cause: "HTTP 429: too many requests", ...retry };
  if (isSessionRefusal(asked, status, answer)) {
    const cause = `HTTP ${status}: the server does not know the session`;
    return { kind: "sessionLost", status, cause, ...supportedProtocols(answer) };
  }
  if (status === 401 || status === 403) {
    return { kind: "unauthorized", status, cause: `HTTP ${status}: the server refused the credential` };
  }
  if (answer) return { kind: "answer", status, answer, bytes: reader.bytes };
  if (status >= 500 || unknownStatuses.has(status)) {
    return { kind: "interrupted", status, cause: `HTTP ${status}`, ...retry };
  }
  return { kind: "notSent", status, cause: `HTTP ${status}: the server refused the request`, ...retry };
}

function judgeSuccess(asked: Asked, reader: ReplyReader, answer: Answer | undefined): Reply {
  const { status } = reader;
  if (!answer) return { kind: "interrupted", status, cause: reader.fault ?? lostCause(reader, "no answer") };
  if (asked.era === "modern" && answer.kind === "error" && answer.error.code === unsupportedProtocolCode) {
    const cause = "the server does not speak this protocol any more";
    return { kind: "sessionLost", status, cause, ...supportedProtocols(answer) };
  }
  const sessionId = reader.headers["mcp-session-id"];
  return {
    kind: "answer",
    status,
    answer,
    bytes: reader.bytes,
    ...(typeof sessionId === "string" ? { sessionId } : {}),
  };
}

/** 404 with a session, and what servers send in its place: 400 or 401 that speaks of a session, -32022 after a downgrade. */
function isSessionRefusal(asked: Asked, status: number, answer: Answer | undefined): boolean {
  const error = answer?.kind === "error" ? answer.error : undefined;
  if (asked.era === "modern") {
    return error?.code === unsupportedProtocolCode || (status === 400 && sessionWords.test(error?.message ?? ""));
  }
  if (asked.sessionId === undefined) return status === 400 && /not initialized/i.test(error?.message ?? "");
  return status === 404 || ((status === 400 || status === 401) && sessionWords.test(error?.message ?? ""));
}

/** What the server offers instead, when it refused the protocol. */
function supportedProtocols(answer: Answer | undefined): { readonly supportedProtocols?: readonly Json[] } {
  const data = answer?.kind === "error" ? answer.error.data : undefined;
  return isObject(data) && Array.isArray(data["supported"]) ? { supportedProtocols: data["supported"] } : {};
}

function lostCause(reader: ReplyReader, cause: string): string {
  if (reader.fault !== undefined) return reader.fault;
  return reader.isStream ? `the stream ended before the answer: ${cause}` : cause;
}

const retryAfterMsMax = 15 * 60_000;

/** `Retry-After` in either of its forms, seconds or a date, as milliseconds from now; at most 15 minutes (semantics 5.2). */
function retryAfter(reader: ReplyReader, clock: Clock): { readonly retryAfterMs?: number } {
  const text = reader.headers["retry-after"]?.trim() ?? "";
  const ms = /^\d+(\.\d+)?$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - clock.nowMs();
  return Number.isNaN(ms) ? {} : { retryAfterMs: Math.round(Math.min(Math.max(ms, 0), retryAfterMsMax)) };
}
