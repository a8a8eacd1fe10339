import fc from "fast-check";
import { expect, test } from "vitest";
import { canonicalJson } from "./canonical-json.ts";
import { digestJson } from "./digest.ts";
import { parseExact, stringifyExact } from "./exact-json.ts";

test("an integer that no double holds keeps its digits, every other number is a number [case a07]", () => {
  const parsed = parseExact(
    '{"id":9007199254740993,"even":9007199254740994,"small":1,"float":1.5,"neg":-18446744073709551615}',
  );
  expect(parsed).toEqual({
    id: 9007199254740993n,
    even: 9007199254740994,
    small: 1,
    float: 1.5,
    neg: -18446744073709551615n,
  });
  expect(stringifyExact(parsed)).toBe(
    '{"id":9007199254740993,"even":9007199254740994,"small":1,"float":1.5,"neg":-18446744073709551615}',
  );
});

test("both ways of parsing give the same for what both can hold", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const text = JSON.stringify(value);
      const long = `{"n":12345678901234567890,"v":${text}}`;
      expect(stringifyExact((parseExact(long) as { v: unknown }).v)).toBe(stringifyExact(parseExact(text)));
    }),
  );
});

test("names in data are data", () => {
  const parsed = parseExact('{"__proto__":{"x":12345678901234567890},"constructor":1}') as Record<string, unknown>;
  expect(Object.keys(parsed)).toEqual(["__proto__", "constructor"]);
  expect(stringifyExact(parsed)).toBe('{"__proto__":{"x":12345678901234567890},"constructor":1}');
});

test("broken JSON is refused on both paths", () => {
  for (const text of ["{", '{"a":12345678901234567890', "[12345678901234567890,]", "nope"])
    expect(() => parseExact(text)).toThrow(SyntaxError);
});

test("canonical JSON sorts by code units and writes numbers as ECMAScript does [semantics 1.2]", () => {
  expect(canonicalJson({ b: 1, a: [1e21, 0.1, -0, 12345678901234567890n], "\u20ac": null, "\ud83d\ude00": true })).toBe(
    '{"a":[1e+21,0.1,0,12345678901234567890],"b":1,"€":null,"😀":true}',
  );
});

test("the order of keys changes no digest", () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string({ unit: "grapheme" }), fc.integer()), (value) => {
      const turned = Object.fromEntries(Object.entries(value).reverse());
      expect(digestJson(turned)).toBe(digestJson(value));
    }),
  );
});

test("a lone surrogate has no canonical form; the error names its path [case d03]", () => {
  expect(() => canonicalJson({ q: ["a", "\ud800"] })).toThrow("lone surrogate in the text at /q/1");
});
