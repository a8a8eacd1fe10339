import { setTimeout as delay } from "node:timers/promises";

/** Looks again and again until it finds what it looks for; fails with what it saw last when the time is up. */
export async function eventually<Found>(
  what: string,
  look: () => Promise<Found | undefined | false>,
  timeoutMs = 20_000,
): Promise<Found> {
  const deadlineMs = performance.now() + timeoutMs;
  let failure: unknown;
  while (performance.now() < deadlineMs) {
    try {
      const found = await look();
      if (found !== undefined && found !== false) return found;
      failure = undefined;
    } catch (error) {
      failure = error;
    }
    await delay(20);
  }
  throw new Error(`after ${timeoutMs} ms: ${what}`, { cause: failure });
}
