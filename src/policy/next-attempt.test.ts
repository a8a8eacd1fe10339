import { expect, test } from "vitest";
import { type CallPolicy, compileCallPolicy, compileRunLimits } from "./call-policy.ts";
import { afterInterruption, afterNotSent } from "./next-attempt.ts";

const tool = { group: "mail", name: "send", inputSchema: {}, tags: {} };

function policy(entry: Record<string, string | number | boolean> = {}, tags: Record<string, string> = {}): CallPolicy {
  const pinned = { ...tool, tags };
  const policies = [{ tools: ["mail.*"], ...entry }];
  return compileCallPolicy({ version: 1, servers: [], tools: [pinned], policies, limits: {} }, pinned);
}

test("Retry sends again with growing pauses, five attempts in all [semantics 5.2]", () => {
  const pauses = [1, 2, 3, 4].map((attempts) => {
    const next = afterInterruption(policy(), attempts, 10_000, undefined, 0);
    return next.kind === "retry" ? next.atMs - 10_000 : undefined;
  });
  expect(pauses).toEqual([250, 500, 1_000, 2_000]);
  expect(afterInterruption(policy(), 5, 0, undefined, 0)).toEqual({
    kind: "fail",
    code: "Interrupted",
    outcomeUnknown: true,
  });
});

test("Retry-After is at least the backoff and at most 15 minutes [semantics 5.2]", () => {
  const at = (retryAfterMs: number) => {
    const next = afterInterruption(policy(), 1, 0, retryAfterMs, 0);
    return next.kind === "retry" ? next.atMs : undefined;
  };
  expect([at(1), at(30_000), at(86_400_000)]).toEqual([250, 30_000, 900_000]);
});

test("AtMostOnce fails at once with an unknown outcome [semantics 5.2]", () => {
  const next = afterInterruption(policy({ onInterruption: "AtMostOnce" }), 1, 0, undefined, 0);
  expect(next).toEqual({ kind: "fail", code: "Interrupted", outcomeUnknown: true });
});

test("what certainly never arrived is tried again under every policy, until its time is up [semantics 5.3]", () => {
  const once = policy({ onInterruption: "AtMostOnce" });
  expect(afterNotSent(once, 1, 0, 899_999, undefined, 0).kind).toBe("retry");
  expect(afterNotSent(once, 9, 0, 900_000, undefined, 0)).toEqual({
    kind: "fail",
    code: "NotSent",
    outcomeUnknown: false,
  });
  expect(afterNotSent(policy({ unreachableTimeout: "0s" }), 9, 0, 1e12, undefined, 0).kind).toBe("retry");
});

test("the first entry that names the tool decides, the rest are defaults [api: policies]", () => {
  const content = {
    version: 1 as const,
    servers: [],
    tools: [tool],
    policies: [
      { tools: ["db.*"], timeout: "1s" },
      { tools: ["mail.s*"], timeout: "2s" },
      { tools: ["*"], timeout: "3s" },
    ],
    limits: { concurrency: 3 },
  };
  expect(compileCallPolicy(content, tool)).toMatchObject({
    timeoutMs: 2_000,
    concurrency: 3,
    approval: "None",
    onInterruption: "Retry",
    retention: "Durable",
  });
  expect(policy()).toMatchObject({ timeoutMs: 300_000, concurrency: 16, validateArguments: true, attemptsMax: 5 });
});

test("a tool's class is the policy's, else the server's tag, else Durable [semantics 12.2]", () => {
  expect(policy({}, { "newt/retention": "outward" }).retention).toBe("Outward");
  expect(policy({ retention: "Ephemeral" }, { "newt/retention": "outward" }).retention).toBe("Ephemeral");
  expect(policy({}, { "newt/retention": "nonsense" }).retention).toBe("Durable");
});

test("limits are the spec's, else the documented ones [semantics 3.5]", () => {
  const limits = { resultBytes: 10, sandbox: { memory: "128Mi", cpu: "2s", calls: 5 } };
  expect(compileRunLimits({ version: 1, servers: [], tools: [], policies: [], limits })).toMatchObject({
    resultBytes: 10,
    memoryBytes: 134_217_728,
    cpuMs: 2_000,
    calls: 5,
    concurrency: 16,
  });
  expect(compileRunLimits({ version: 1, servers: [], tools: [], policies: [], limits: {} })).toMatchObject({
    resultBytes: 5_242_880,
    memoryBytes: 67_108_864,
    cpuMs: 5_000,
    calls: 10_000,
  });
});
