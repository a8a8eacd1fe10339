import fc from "fast-check";
import { expect, test } from "vitest";
import { visibleLines, visibleText } from "./visible-text.ts";

test.each([
  ["plain text, with ünïcödé and 日本", "plain text, with ünïcödé and 日本"],
  ["a\u0000b\u001b[2Jc\u007f\u009b", "a\\u0000b\\u001b[2Jc\\u007f\\u009b"],
  ["one\ntwo\r\nthree\tfour", "one\\ntwo\\r\\nthree\\tfour"],
  [
    "\u202eevil\u202c\u2066x\u2069\u200b\u200f\ufeff\u00ad",
    "\\u202eevil\\u202c\\u2066x\\u2069\\u200b\\u200f\\ufeff\\u00ad",
  ],
  ["a\u2028b\u2029c\u0085d", "a\\u2028b\\u2029c\\u0085d"],
  ["no\u00a0break\u3000wide", "no\\u00a0break\\u3000wide"],
  ["tag \u{e0041}, selector \u{e0101}", "tag \\udb40\\udc41, selector \\udb40\\udd01"],
  ["half \ud83d pair", "half \\ud83d pair"],
  ["filler \u3164\uffa0\u2800", "filler \\u3164\\uffa0\\u2800"],
  ["emoji 😀 stays", "emoji 😀 stays"],
])("[semantics 2.4] what cannot be seen becomes an escape: %j", (raw, shown) => {
  expect(visibleText(raw)).toBe(shown);
});

test("[semantics 2.4] escaped JSON text is still JSON of the same value, on one line", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const shown = visibleText(JSON.stringify(value));
      expect(JSON.parse(shown)).toEqual(JSON.parse(JSON.stringify(value)));
      expect(shown).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
    }),
  );
});

test("[semantics 2.4] in text of several lines only line feeds and tabs stay", () => {
  expect(visibleLines("a\n\tb\r\u202e")).toBe("a\n\tb\\r\\u202e");
});
