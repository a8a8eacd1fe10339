import { expect, test } from "vitest";
import { isSelected, matchesGlob, matchesToolPattern } from "./tool-pattern.ts";

test.each([
  ["*", "github.create_issue", true],
  ["github.create_*", "github.create_issue", true],
  ["github.create_*", "github.delete_issue", false],
  ["github.*", "githubs.x", false],
  ["*.delete", "a.b.delete", true],
  ["a*b*c", "a-b-b-c", true],
  ["a*b*c", "a-b-b-d", false],
  ["http.fetch", "http.fetch", true],
  ["http.fetch", "httpXfetch", false],
  ["", "", true],
  ["", "x", false],
  ["**", "x", true],
])("pattern %j on %j: %j", (pattern, tool, expected) => {
  expect(matchesToolPattern(pattern, tool)).toBe(expected);
});

test("a hostile pattern takes no exponential time", () => {
  const startedMs = performance.now();
  expect(matchesGlob(`${"a*".repeat(200)}b`, "a".repeat(5_000))).toBe(false);
  expect(performance.now() - startedMs).toBeLessThan(1_000);
});

test("[semantics 1.1] exclude wins over include; without include all are taken", () => {
  const selection = { include: ["list_*", "delete_*"], exclude: ["delete_*"] };
  expect(["list_issues", "delete_repo", "get"].filter((name) => isSelected(selection, name))).toEqual(["list_issues"]);
  expect(isSelected({}, "anything")).toBe(true);
  expect(isSelected({ include: [] }, "anything")).toBe(false);
});
