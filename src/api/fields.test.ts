import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { DURATION_MS_MAX, parseDurationMs } from "../base/duration.ts";
import { duration } from "./fields.ts";
import { groupName, headerNameRules, secretFreeUrl, tokenAudience } from "./server-rules.ts";
import { parseMemoryBytes } from "./toolset-spec.ts";

describe("durations", () => {
  const schema = duration("A duration.", { zero: "at once" });

  test("all that admission takes can be parsed, and is below a hundred years", () => {
    const part = fc
      .tuple(fc.nat(999_999_999), fc.constantFrom("ms", "s", "m", "h", "d"))
      .map(([count, unit]) => `${count}${unit}`);
    const text = fc.array(part, { minLength: 1, maxLength: 4 }).map((parts) => parts.join(""));
    fc.assert(
      fc.property(text, (value) => {
        if (schema.safeParse(value).success) expect(parseDurationMs(value)).toBeLessThanOrEqual(DURATION_MS_MAX);
      }),
    );
  });

  test.each(["90s", "1h30m", "500ms", "40d", "2400h", "0s", "9999d", "999999999s"])("%s is one", (value) => {
    expect(schema.safeParse(value).success).toBe(true);
  });

  test.each(["", "5", "5 m", "-1h", "1.5h", "10000d", "100000h", "99999999m", "1y"])("%j is none", (value) => {
    expect(schema.safeParse(value).success).toBe(false);
  });

  test("zero is taken only where it means something", () => {
    expect(duration("A duration.").safeParse("0s").success).toBe(false);
  });
});

describe("URLs that hold no secret [semantics 1.8]", () => {
  const schema = secretFreeUrl("A URL.");

  test.each([
    "https://mcp.example.com",
    "http://10.0.0.7:8080/mcp/",
    "https://h/mcp?page=2&team=a",
    "https://h/keys/token/mcp",
    "https://h/a@b",
    "https://h/mcp?keyboard=us&tokens_left=3&design=x",
  ])("%s is taken", (value) => {
    expect(schema.safeParse(value).success).toBe(true);
  });

  test.each([
    "https://u@h/",
    "https://u:p@h/",
    "https://:p@h?x",
    "https://h?token",
    "https://h?a=1&access_token=x",
    "https://h?apiKey=x",
    "https://h?X-Amz-Signature=x",
    "https://h?client-secret-id=x",
    "https://h?Password=x",
    "https://h?a=1;key=2",
    "https://h?se%63ret=1",
    "https://h#x",
    "HTTPS://h",
    "https://",
    "https://h /",
    "https://h\n",
  ])("%j is refused", (value) => {
    expect(schema.safeParse(value).success).toBe(false);
  });
});

test.each(["x-team", "User-Agent", "x-keyboard", "x-authority"])("header %s is taken", (name) => {
  expect(headerNameRules.every(({ check }) => check?.({ [name]: "x" }))).toBe(true);
});

test.each([
  "authorization",
  "Proxy-Authorization",
  "Cookie",
  "x-api-key",
  "apikey",
  "X_Auth_Token",
  "x-client-secret-id",
  "x-amz-security-token",
  "privatetoken",
  "x-auth",
  "Content-Type",
  "mcp-protocol-version",
])("header %s is refused", (name) => {
  expect(headerNameRules.some(({ check }) => check?.({ [name]: "x" }) === false)).toBe(true);
});

test.each([
  "kubernetes.default.svc",
  "https://kubernetes.default.svc.cluster.local",
  "https://KUBERNETES.default.svc:443",
  "api",
])("audience %s is the API server's own", (value) => {
  expect(tokenAudience("An audience.").safeParse(value).success).toBe(false);
  expect(tokenAudience("An audience.").safeParse(`x-${value}`).success).toBe(true);
});

test.each(["git-hub", "1a", "", "a b", "delete", "await", "rewind", "a".repeat(64)])("%j is no group", (name) => {
  expect(groupName("A group.").safeParse(name).success).toBe(false);
});

test("memory is whole Mi and Gi", () => {
  expect([parseMemoryBytes("64Mi"), parseMemoryBytes("1Gi")]).toEqual([67_108_864, 1_073_741_824]);
});
