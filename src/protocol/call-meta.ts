import { createHash } from "node:crypto";

/** The names under `params._meta` that servers for Rewind and for newt know (semantics 4.4). */
export const META_KEYS = {
  rewindKey: "codes.rewind/idempotency-key",
  newtKey: "newt/idempotency_key",
  session: "newt/session",
  skillsLoaded: "newt/skills_loaded",
  pagesRead: "newt/pages_read",
  traceparent: "traceparent",
} as const;

/** The idempotency key of a call: the same on every attempt, replay and resend (semantics 4.3). */
export function idempotencyKey(runId: string, seq: number): string {
  return `${runId}/${seq}`;
}

/** What every call carries in `params._meta`. */
export function callMeta(call: {
  runId: string;
  seq: number;
  attempt: number;
  sessionId?: string;
}): Record<string, unknown> {
  const key = idempotencyKey(call.runId, call.seq);
  return {
    [META_KEYS.rewindKey]: key,
    [META_KEYS.newtKey]: key,
    [META_KEYS.session]: call.sessionId ?? call.runId,
    [META_KEYS.skillsLoaded]: [],
    [META_KEYS.pagesRead]: [],
    [META_KEYS.traceparent]: traceparent(call.runId, `${key}#${call.attempt}`),
  };
}

/** W3C trace context: one trace a run (its id is the trace's), one span an attempt. Not sampled until tracing is on. */
function traceparent(runId: string, spanName: string): string {
  const traceId = runId.replaceAll("-", "").toLowerCase();
  const spanId = createHash("sha256").update(spanName).digest("hex").slice(0, 16);
  return `00-${traceId}-${spanId}-00`;
}
