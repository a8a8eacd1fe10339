import type { CallErrorCode } from "../base/errors.ts";
import type { AttemptOutcome } from "../tools/port.ts";
import { resultValue } from "../tools/result-value.ts";
import type { LiveCall } from "./live-call.ts";

/** Why a call fails, as its `ToolError` will say. */
export interface CallFailure {
  readonly code: CallErrorCode;
  readonly message: string;
  readonly outcomeUnknown?: boolean;
  readonly detailsText?: string;
}

/** What an attempt's end means for its call. */
export type JudgedOutcome =
  | { readonly kind: "succeeded"; readonly valueText: string }
  | { readonly kind: "failed"; readonly failure: CallFailure }
  | { readonly kind: "interrupted"; readonly cause: string; readonly retryAfterMs: number | undefined }
  | { readonly kind: "notSent"; readonly cause: string; readonly retryAfterMs: number | undefined };

/** Sorts an attempt's end: an answer, a failure for good, or something that the call's policy decides about (semantics 4.6, 5). */
export function judgeOutcome(outcome: AttemptOutcome, call: LiveCall, limits: { resultBytes: number }): JudgedOutcome {
  switch (outcome.kind) {
    case "answered": {
      const value = resultValue(outcome.result, limits, call.tool.unwrap);
      if (value.kind === "value") return { kind: "succeeded", valueText: value.valueText };
      if (value.kind === "toolFailed") return failed("ToolFailed", value.message, false, value.detailsText);
      return failed("ResultTooLarge", `the result has ${value.bytes} bytes, the limit is ${limits.resultBytes}`, false);
    }
    case "tooLarge":
      return failed(
        "ResultTooLarge",
        `the answer is larger than ${limits.resultBytes} bytes, and the tool has run`,
        false,
      );
    case "protocolError": {
      const data = outcome.dataText === undefined ? "" : `,"data":${outcome.dataText}`;
      return failed(
        "ProtocolError",
        `${outcome.message} (JSON-RPC ${outcome.rpcCode})`,
        false,
        `{"rpcCode":${outcome.rpcCode}${data}}`,
      );
    }
    case "unreadable":
      return failed("Interrupted", outcome.cause, true);
    case "unauthorized":
      return failed("NotSent", `the server ${call.tool.server.name} refused the credential: ${outcome.cause}`, false);
    case "inputRequired":
      return failed(
        "ProtocolError",
        "the server asks a question before it goes on, which this version cannot show",
        false,
      );
    case "interrupted":
    case "notSent":
      return { kind: outcome.kind, cause: outcome.cause, retryAfterMs: outcome.retryAfterMs };
  }
}

function failed(code: CallErrorCode, message: string, outcomeUnknown: boolean, detailsText?: string): JudgedOutcome {
  return {
    kind: "failed",
    failure: { code, message, outcomeUnknown, ...(detailsText === undefined ? {} : { detailsText }) },
  };
}
