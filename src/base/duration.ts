const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const DURATION = /^(?:\d+(?:ms|[smhd]))+$/;
const PART = /(\d+)(ms|[smhd])/g;
/** A hundred years: beyond it a date no longer fits every database and library on the way. */
export const DURATION_MS_MAX = 100 * 365 * 86_400_000;
/** The text of a duration, for JSON schemas and CRDs: `90s`, `1h30m`, `500ms`, `40d`. */
export const DURATION_PATTERN = "^([0-9]+(ms|s|m|h|d))+$";

/**
 * Milliseconds of a duration text such as `90s`, `1h30m`, `500ms` or `40d`.
 * @throws RangeError saying what is expected, for anything else and for more than a hundred years.
 */
export function parseDurationMs(text: string): number {
  if (!DURATION.test(text))
    throw new RangeError(`"${text}" is no duration: write for example 90s, 1h30m, 500ms or 40d`);
  let totalMs = 0;
  for (const [, count, unit] of text.matchAll(PART)) totalMs += Number(count) * (UNIT_MS[unit ?? ""] ?? Number.NaN);
  if (!(totalMs <= DURATION_MS_MAX)) throw new RangeError(`"${text}" is longer than a hundred years`);
  return totalMs;
}

/** A duration as people read it: the two largest units that are not zero (`2d3h`, `1m30s`, `250ms`). */
export function formatDurationMs(durationMs: number): string {
  if (durationMs < 1_000) return `${Math.round(durationMs)}ms`;
  const parts: string[] = [];
  let restMs = durationMs;
  for (const unit of ["d", "h", "m", "s"]) {
    const count = Math.floor(restMs / (UNIT_MS[unit] as number));
    restMs -= count * (UNIT_MS[unit] as number);
    if (count > 0) parts.push(`${count}${unit}`);
    else if (parts.length > 0) break;
  }
  return parts.slice(0, 2).join("");
}
