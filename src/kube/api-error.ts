import { type Json, parseExact } from "../base/exact-json.ts";
import { ObjectStoreError, type ObjectStoreErrorReason } from "../objects/store.ts";

/** A message of the API server can quote a whole object; what goes to logs and conditions is bounded. */
const MESSAGE_LENGTH_MAX = 2_048;

/** The answer is larger than the client keeps in memory. A list can be asked for again with a smaller page. */
export class ResponseTooLargeError extends ObjectStoreError {}

/**
 * The error that an answer of the API server means, with the server's own message (`Refused` for what does not change by trying
 * again, `Unavailable` for what does).
 * @param what the request, such as `PATCH /api/v1/…`
 * @param text the body, a `Status` object unless something in between answered
 */
export function errorOfAnswer(what: string, httpStatus: number, text: string): ObjectStoreError {
  const status = readStatus(text);
  const message = `${what}: ${status.message ?? `the server answered ${httpStatus}`}`.slice(0, MESSAGE_LENGTH_MAX);
  return new ObjectStoreError(reasonOf(httpStatus, status.reason), message, httpStatus);
}

/** The error of an `ERROR` event in a watch, which carries its HTTP status in a `Status` object. */
export function errorOfStatus(what: string, status: Json): ObjectStoreError {
  const code = isObject(status) && typeof status["code"] === "number" ? status["code"] : 500;
  return errorOfAnswer(what, code, JSON.stringify(status));
}

/** No answer came: refused, reset, timed out or cancelled. Whether a write took place is not known. */
export function errorOfFailure(what: string, error: unknown): ObjectStoreError {
  if (error instanceof ObjectStoreError) return error;
  const cause = error instanceof Error ? `${error.message}${causeText(error.cause)}` : String(error);
  return new ObjectStoreError("Unavailable", `${what}: ${cause}`.slice(0, MESSAGE_LENGTH_MAX));
}

function reasonOf(httpStatus: number, reason: string | undefined): ObjectStoreErrorReason {
  if (httpStatus === 404) return "NotFound";
  if (httpStatus === 409) return reason === "AlreadyExists" ? "Exists" : "Conflict";
  if (httpStatus === 408 || httpStatus === 410 || httpStatus === 429 || httpStatus >= 500) return "Unavailable";
  return "Refused";
}

function readStatus(text: string): { message?: string; reason?: string } {
  try {
    const status = parseExact(text);
    if (!isObject(status) || status["kind"] !== "Status") return {};
    const { message, reason } = status;
    return {
      ...(typeof message === "string" && message !== "" ? { message } : {}),
      ...(typeof reason === "string" ? { reason } : {}),
    };
  } catch {
    return {};
  }
}

function causeText(cause: unknown): string {
  return cause instanceof Error ? ` (${cause.message})` : "";
}

function isObject(value: Json): value is { [key: string]: Json } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
