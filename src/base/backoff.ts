/** How long to wait between tries. All units are milliseconds. */
export interface BackoffPolicy {
  readonly firstMs: number;
  readonly maxMs: number;
  readonly factor: number;
}

/**
 * The delay before try `attempt + 1` after `attempt` tries failed (from 1): exponential, with jitter.
 * @param random a number in [0, 1): half of the delay is fixed, half is spread by it, so that many waiters do not meet again.
 */
export function backoffDelayMs(policy: BackoffPolicy, attempt: number, random: number): number {
  const full = Math.min(policy.maxMs, policy.firstMs * policy.factor ** Math.max(0, attempt - 1));
  return Math.round(full / 2 + (full / 2) * random);
}
