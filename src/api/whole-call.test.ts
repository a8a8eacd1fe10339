import { expect, test } from "vitest";
import { digestText } from "../base/digest.ts";
import { wholeArguments, wholeCallText } from "./whole-call.ts";

test("the text is believed only where it is what the digest is over [case c07]", () => {
  const text = wholeCallText("sh.run", "https://tools.example.com/mcp", { b: 9007199254740993n, a: "rm -rf /" });
  expect(wholeArguments(text, digestText(text))).toBe('{"a":"rm -rf /","b":9007199254740993}');
  expect(wholeArguments(text.replace("rm -rf /", "harmless"), digestText(text))).toBeUndefined();
});
