import { expect, test } from "vitest";
import { formatDurationMs, parseDurationMs } from "./duration.ts";

test.each([
  ["90s", 90_000],
  ["1h30m", 5_400_000],
  ["500ms", 500],
  ["40d", 3_456_000_000],
  ["0s", 0],
])("%s is %d ms [case d01]", (text, durationMs) => {
  expect(parseDurationMs(text)).toBe(durationMs);
});

test.each(["", "5", "-1h", "1.5h", "h", "1 h", "1w", "101000000000d", "1h-2m"])(
  "%j is refused with an example",
  (text) => {
    expect(() => parseDurationMs(text)).toThrow(RangeError);
  },
);

test.each([
  [250, "250ms"],
  [90_000, "1m30s"],
  [187_200_000, "2d4h"],
  [86_400_000, "1d"],
  [86_405_000, "1d"],
])("%d ms reads %s", (durationMs, text) => {
  expect(formatDurationMs(durationMs)).toBe(text);
});
