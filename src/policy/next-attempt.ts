import { type BackoffPolicy, backoffDelayMs } from "../base/backoff.ts";
import type { CallErrorCode } from "../base/errors.ts";
import type { CallPolicy } from "./call-policy.ts";

/** What to do after an attempt that brought no answer. */
export type AfterAttempt =
  | { readonly kind: "retry"; readonly atMs: number }
  | { readonly kind: "fail"; readonly code: CallErrorCode; readonly outcomeUnknown: boolean };

const INTERRUPTED_BACKOFF: BackoffPolicy = { firstMs: 500, maxMs: 60_000, factor: 2 };
const UNREACHABLE_BACKOFF: BackoffPolicy = { firstMs: 250, maxMs: 15_000, factor: 2 };
/** `Retry-After` is honoured up to this (semantics 5.2). */
const RETRY_AFTER_MS_MAX = 15 * 60_000;

/** After an interruption: it may have run (semantics 5.1, 5.2). `attempts` counts the sends so far. */
export function afterInterruption(
  policy: CallPolicy,
  attempts: number,
  nowMs: number,
  retryAfterMs: number | undefined,
  random: number,
): AfterAttempt {
  if (policy.onInterruption !== "Retry" || attempts >= policy.attemptsMax) {
    return { kind: "fail", code: "Interrupted", outcomeUnknown: true };
  }
  return { kind: "retry", atMs: nowMs + pauseMs(INTERRUPTED_BACKOFF, attempts, retryAfterMs, random) };
}

/** After an attempt that certainly never reached the tool: tried again under every policy, until the time is up (semantics 5.3). */
export function afterNotSent(
  policy: CallPolicy,
  failures: number,
  sinceMs: number,
  nowMs: number,
  retryAfterMs: number | undefined,
  random: number,
): AfterAttempt {
  const givesUp = policy.unreachableTimeoutMs > 0 && nowMs - sinceMs >= policy.unreachableTimeoutMs;
  if (givesUp) return { kind: "fail", code: "NotSent", outcomeUnknown: false };
  return { kind: "retry", atMs: nowMs + pauseMs(UNREACHABLE_BACKOFF, failures, retryAfterMs, random) };
}

function pauseMs(backoff: BackoffPolicy, attempt: number, retryAfterMs: number | undefined, random: number): number {
  return Math.max(backoffDelayMs(backoff, attempt, random), Math.min(retryAfterMs ?? 0, RETRY_AFTER_MS_MAX));
}
