import { expect, test } from "vitest";
import { redirectTarget } from "./redirect.ts";

test.each([
  ["http://h/mcp", "https://h/mcp", true],
  ["http://h:8080/mcp", "https://h:8443/mcp", true],
  ["https://h/mcp", "https://h/mcp/", true],
  ["https://h/mcp", "http://h/mcp/", false],
  ["http://h/mcp", "https://other/mcp", false],
  ["http://h/mcp", "http://h:81/mcp", false],
  ["http://h/mcp", "http://user@h/mcp", false],
])("a 308 from %s to %s is followed: %s [semantics 1.8]", (from, to, followed) => {
  expect("url" in redirectTarget(new URL(from), 308, to)).toBe(followed);
});

test("a redirect without a usable target is refused", () => {
  for (const location of [undefined, "http://"]) {
    expect(redirectTarget(new URL("http://h/mcp"), 307, location)).toEqual({
      refused: "http://h/mcp answers 307 without a usable Location",
    });
  }
});
