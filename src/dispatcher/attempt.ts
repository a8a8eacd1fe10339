import { callMeta } from "../protocol/call-meta.ts";
import type { AttemptOutcome, ToolSource } from "../tools/port.ts";
import type { LiveCall } from "./live-call.ts";

/** Why an attempt was cut off from this side. */
type Cut = "timeout" | "idle";

/**
 * Makes one attempt within its time-outs: `timeout` in total, `idleTimeout` since the last sign of life (semantics 5.5).
 * @param abort cancels it from outside (the run is cancelled, or is not ours any more)
 */
export async function makeAttempt(
  call: LiveCall,
  runId: string,
  source: ToolSource,
  abort: AbortController,
): Promise<AttemptOutcome> {
  const { policy } = call.tool;
  let cut: Cut | undefined;
  const stop = (reason: Cut) => {
    cut = reason;
    abort.abort();
  };
  const total = setTimeout(() => stop("timeout"), policy.timeoutMs);
  let idle: NodeJS.Timeout | undefined;
  const alive = () => {
    clearTimeout(idle);
    if (policy.idleTimeoutMs !== undefined) idle = setTimeout(() => stop("idle"), policy.idleTimeoutMs);
  };
  alive();
  try {
    const outcome = await source.call({
      tool: call.tool.pinned.name,
      argumentsText: call.argumentsText,
      meta: callMeta({ runId, seq: call.seq, attempt: call.attempts }),
      signal: abort.signal,
      inputSchema: call.tool.pinned.inputSchema,
      ...(policy.idleTimeoutMs === undefined ? {} : { onProgress: alive }),
    });
    return outcome.kind === "interrupted" && cut ? { kind: "interrupted", cause: cutMessage(cut, call) } : outcome;
  } finally {
    clearTimeout(total);
    clearTimeout(idle);
  }
}

function cutMessage(cut: Cut, call: LiveCall): string {
  const { timeoutMs, idleTimeoutMs } = call.tool.policy;
  return cut === "timeout"
    ? `no answer within the time-out of ${timeoutMs} ms`
    : `neither an answer nor a progress notification for ${idleTimeoutMs} ms`;
}
