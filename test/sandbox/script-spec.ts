import type { Delivery, ScriptLimits, ScriptSpec } from "../../src/sandbox/port.ts";

/** A spec with a group `db` of three tools; the source is JavaScript. */
export function scriptSpec(
  source: string,
  more: Partial<Omit<ScriptSpec, "limits">> & { limits?: Partial<ScriptLimits> } = {},
): ScriptSpec {
  const limits = { memoryBytes: 64 * 1_048_576, cpuMs: 5_000, argumentBytes: 5 * 1_048_576, consoleBytes: 1_048_576 };
  return {
    runId: "019be000-0000-7000-8000-000000000001",
    seed: "seed",
    startedAtMs: Date.UTC(2026, 0, 2, 3, 4, 5),
    toolset: { name: "triage", digest: "sha256:00" },
    groups: { db: ["find", "drop", "list-issues"] },
    behaviours: [],
    ...more,
    moduleSource: source,
    limits: { ...limits, ...more.limits },
  };
}

/** The result of command `ref`, one second after the one before. */
export function result(ref: number, valueText?: string): Delivery {
  const outcome = valueText === undefined ? ({ ok: true } as const) : ({ ok: true, valueText } as const);
  return { ref, atMs: Date.UTC(2026, 0, 2, 3, 4, 5) + ref * 1_000, outcome };
}

/** The failure of command `ref`. */
export function failure(ref: number, detailsText?: string): Delivery {
  const error = {
    code: "ToolFailed",
    message: "no such row",
    tool: "db.find",
    seq: ref,
    outcomeUnknown: false,
    attempts: 1,
  } as const;
  const atMs = Date.UTC(2026, 0, 2, 3, 4, 5) + ref * 1_000;
  return { ref, atMs, outcome: { ok: false, error: detailsText === undefined ? error : { ...error, detailsText } } };
}
