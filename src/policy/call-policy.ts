import { parseDurationMs } from "../base/duration.ts";
import type { Json, JsonObject } from "../base/exact-json.ts";
import type { PinContent, PinnedTool } from "../toolset/pin.ts";
import { matchesToolPattern } from "../toolset/tool-pattern.ts";

/** What to do with the calls of one tool, compiled once from the pin: no text is parsed while a call is under way. */
export interface CallPolicy {
  readonly approval: "None" | "Required";
  readonly approvers?: {
    readonly users?: readonly string[];
    readonly groups?: readonly string[];
    readonly notRequester?: boolean;
  };
  readonly onInterruption: "Retry" | "AtMostOnce" | "Park";
  /** Of one attempt, in total. */
  readonly timeoutMs: number;
  /** Without a result or a progress notification; absent: not bounded apart from the total. */
  readonly idleTimeoutMs?: number;
  /** How long to try a server that certainly never got the call; 0 means for ever (semantics 5.3). */
  readonly unreachableTimeoutMs: number;
  /** Calls of this tool in flight, per run. */
  readonly concurrency: number;
  readonly retention: "Ephemeral" | "Durable" | "Outward";
  readonly validateArguments: boolean;
  /** Sends in all under Retry (semantics 5.2). */
  readonly attemptsMax: number;
}

/** Limits of a run, compiled from the pin. */
export interface RunLimits {
  /** Calls in flight, per run. */
  readonly concurrency: number;
  /** UTF-8 bytes of a result's JSON text. */
  readonly resultBytes: number;
  readonly calls: number;
  readonly memoryBytes: number;
  readonly cpuMs: number;
  readonly argumentBytes: number;
  readonly consoleBytes: number;
  /** Of the run's whole log. */
  readonly journalBytes: number;
}

const CONCURRENCY_DEFAULT = 16;
const TIMEOUT_MS_DEFAULT = 5 * 60_000;
const UNREACHABLE_TIMEOUT_MS_DEFAULT = 15 * 60_000;
const ATTEMPTS_MAX = 5;
const MEBIBYTE = 1024 * 1024;

const RETENTIONS: Readonly<Record<string, CallPolicy["retention"]>> = {
  ephemeral: "Ephemeral",
  durable: "Durable",
  outward: "Outward",
};

/** The policy of a tool: the first entry that names it, the defaults for what that leaves out (api.md, semantics 5, 12.2). */
export function compileCallPolicy(pin: PinContent, tool: PinnedTool): CallPolicy {
  const name = `${tool.group}.${tool.name}`;
  const entry =
    pin.policies.find((policy) => asTexts(policy["tools"]).some((pattern) => matchesToolPattern(pattern, name))) ?? {};
  const tagged = tool.tags["newt/retention"];
  const approvers = entry["approvers"] as CallPolicy["approvers"];
  const idleTimeout = entry["idleTimeout"];
  return {
    approval: entry["approval"] === "Required" ? "Required" : "None",
    ...(approvers === undefined ? {} : { approvers }),
    onInterruption: (entry["onInterruption"] as CallPolicy["onInterruption"] | undefined) ?? "Retry",
    timeoutMs: durationMs(entry["timeout"], TIMEOUT_MS_DEFAULT),
    ...(idleTimeout === undefined ? {} : { idleTimeoutMs: durationMs(idleTimeout, 0) }),
    unreachableTimeoutMs: durationMs(entry["unreachableTimeout"], UNREACHABLE_TIMEOUT_MS_DEFAULT),
    concurrency: count(entry["concurrency"], compileRunLimits(pin).concurrency),
    retention:
      (entry["retention"] as CallPolicy["retention"] | undefined) ??
      (typeof tagged === "string" ? RETENTIONS[tagged] : undefined) ??
      "Durable",
    validateArguments: entry["validateArguments"] !== false,
    attemptsMax: ATTEMPTS_MAX,
  };
}

/** The limits of every run of a pin (semantics 3.5, 4.6). */
export function compileRunLimits(pin: PinContent): RunLimits {
  const sandbox = (pin.limits["sandbox"] ?? {}) as JsonObject;
  return {
    concurrency: count(pin.limits["concurrency"], CONCURRENCY_DEFAULT),
    resultBytes: count(pin.limits["resultBytes"], 5 * MEBIBYTE),
    calls: count(sandbox["calls"], 10_000),
    memoryBytes: bytes(sandbox["memory"], 64 * MEBIBYTE),
    cpuMs: durationMs(sandbox["cpu"], 5_000),
    argumentBytes: 5 * MEBIBYTE,
    consoleBytes: MEBIBYTE,
    journalBytes: bytes(sandbox["journal"], 256 * MEBIBYTE),
  };
}

function asTexts(value: Json | undefined): string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];
}

function durationMs(value: Json | undefined, fallbackMs: number): number {
  return typeof value === "string" ? parseDurationMs(value) : fallbackMs;
}

function count(value: Json | undefined, fallback: number): number {
  return typeof value === "number" ? value : fallback;
}

const BYTE_UNITS: Readonly<Record<string, number>> = {
  "": 1,
  Ki: 1024,
  Mi: MEBIBYTE,
  Gi: 1024 * MEBIBYTE,
  k: 1e3,
  M: 1e6,
  G: 1e9,
};

function bytes(value: Json | undefined, fallback: number): number {
  if (typeof value === "number") return value;
  const match = typeof value === "string" ? /^(\d+)(Ki|Mi|Gi|k|M|G)?$/.exec(value) : null;
  return match ? Number(match[1]) * (BYTE_UNITS[match[2] ?? ""] ?? 1) : fallback;
}
