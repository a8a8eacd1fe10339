import { expect, test } from "vitest";
import { z } from "zod";
import { databaseUrlOption, decodeOptions, durationOption, logLevelOption } from "./options.ts";

const schema = z.object({
  url: databaseUrlOption("give the URL"),
  lease: durationOption,
  level: logLevelOption.default("info"),
  count: z.string().regex(/^\d+$/, "must be a number").transform(Number).optional(),
});

test("texts are compiled once: durations become milliseconds", () => {
  expect(decodeOptions(schema, { url: "postgres://x", lease: "1m30s" })).toEqual({
    url: "postgres://x",
    lease: 90_000,
    level: "info",
  });
});

test("every fault is listed at once by its option's name, and no value is repeated: it may be a secret", () => {
  const wrong = { url: "mysql://bob:hunter2@x", lease: "soon", level: "loud", count: "many" };
  const decode = () => decodeOptions(schema, wrong);
  expect(decode).toThrow(expect.objectContaining({ code: "InvalidOptions" }));
  try {
    decode();
  } catch (error) {
    const { message, faults } = error as { message: string; faults: { path: string }[] };
    expect(faults.map((fault) => fault.path).sort()).toEqual(["count", "lease", "level", "url"]);
    expect(message).not.toContain("hunter2");
  }
});
