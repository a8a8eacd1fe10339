import { expect, test } from "vitest";
import { resultValue } from "./result-value.ts";

const limits = { resultBytes: 1_000 };
const text = (value: string) => JSON.stringify([{ type: "text", text: value }]);

test.each([
  [
    "structured content goes before everything",
    { contentText: text("x"), structuredText: '{"id":9007199254740993}' },
    '{"id":9007199254740993}',
  ],
  [
    "a single text block that holds an object is parsed",
    { contentText: text('{"id": 9007199254740993}') },
    '{"id":9007199254740993}',
  ],
  ["one that holds an array too", { contentText: text("[1, 2]") }, "[1,2]"],
  ["a number in a text block stays text", { contentText: text("42") }, '"42"'],
  ["broken JSON stays text", { contentText: text("{nope") }, '"{nope"'],
  ["U+0000 stays as it was [case d03]", { contentText: text("ok\u0000end") }, '"ok\\u0000end"'],
  ["a lone surrogate stays as it was [case d03]", { contentText: text("\ud800") }, '"\\ud800"'],
  [
    "several blocks are the content",
    { contentText: '[{"type":"text","text":"a"},{"type":"text","text":"b"}]' },
    '[{"type":"text","text":"a"},{"type":"text","text":"b"}]',
  ],
])("%s [semantics 4.6, case a07]", (_name, result, valueText) => {
  expect(resultValue({ isError: false, ...result }, limits, false)).toEqual({ kind: "value", valueText });
});

test("a wrapped result is unwrapped only where the pinned schema says so [semantics 4.6]", () => {
  const result = { isError: false, contentText: "[]", structuredText: '{"result":[1]}' };
  expect(resultValue(result, limits, true)).toEqual({ kind: "value", valueText: "[1]" });
  expect(resultValue(result, limits, false)).toEqual({ kind: "value", valueText: '{"result":[1]}' });
});

test("an error without text says its compact structured content [case a09]", () => {
  const structuredText = '{"error":"no such folder","hint":"use /srv"}';
  expect(resultValue({ isError: true, contentText: "[]", structuredText }, limits, false)).toEqual({
    kind: "toolFailed",
    message: structuredText,
    detailsText: `{"content":[],"structuredContent":${structuredText}}`,
  });
  expect(resultValue({ isError: true, contentText: text("disk full"), structuredText }, limits, false)).toMatchObject({
    message: "disk full",
  });
});

test("the limit counts UTF-8 bytes of what the script would get [semantics 4.6]", () => {
  const result = { isError: false, contentText: text("é".repeat(600)) };
  expect(resultValue(result, limits, false)).toEqual({ kind: "tooLarge", bytes: 1_202 });
});
