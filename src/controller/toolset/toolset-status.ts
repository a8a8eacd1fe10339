import type { ToolsetSpec } from "../../api/toolset-spec.ts";
import type { ToolsetStatus } from "../../api/toolset-status.ts";
import { formatDurationMs } from "../../base/duration.ts";
import { stringifyExact } from "../../base/exact-json.ts";
import type { ToolsetState } from "../../journal/toolsets.ts";
import { compileCallPolicy, compileRunLimits } from "../../policy/call-policy.ts";
import type { Pin, PinnedTool } from "../../toolset/pin.ts";
import { cutMessage } from "../set-condition.ts";
import { reportOf } from "./readiness.ts";

/** What the list of tools may take of a status' 256 KiB, with schemas and without (semantics 14.4). */
const SCHEMAS_BYTES_MAX = 160 * 1024;
const REFUSED_SHOWN_MAX = 50;
const WARNINGS_SHOWN_MAX = 16;

/** What status shows of a Toolset, but for its conditions. Pure. */
export function toolsetStatusOf(
  spec: ToolsetSpec,
  state: ToolsetState | undefined,
  pin: Pin | undefined,
  unfinishedRuns: number,
): ToolsetStatus {
  const status: Record<string, unknown> = {
    digest: pin?.digest,
    shortDigest: pin?.digest.slice(7, 19),
    pinnedAt: state?.pinnedAtMs === undefined ? undefined : timeText(state.pinnedAtMs),
    servers: servers(spec, state, pin),
    refused:
      pin && pin.refused.length > 0
        ? pin.refused
            .slice(0, REFUSED_SHOWN_MAX)
            .map((entry) => ({ ...entry, message: cutMessage(entry.message, 512) }))
        : undefined,
    ...(pin ? tools(pin) : {}),
    toolCount: pin?.content.tools.length,
    limits: pin && limits(pin),
    runs: unfinishedRuns,
  };
  return Object.fromEntries(Object.entries(status).filter(([, value]) => value !== undefined)) as ToolsetStatus;
}

function servers(spec: ToolsetSpec, state: ToolsetState | undefined, pin: Pin | undefined): unknown {
  const reports = reportOf(state)?.servers ?? [];
  return (spec.servers ?? []).map(({ name }) => {
    const report = reports.find((entry) => entry.name === name);
    if (!report) return { name };
    const { protocol, serverInfo, reachable, lastSeenMs } = report;
    return {
      name,
      ...(protocol === undefined ? {} : { protocol }),
      ...(serverInfo === undefined
        ? {}
        : { serverInfo: { name: serverInfo.name.slice(0, 256), version: serverInfo.version.slice(0, 256) } }),
      tools: pin?.content.tools.filter((tool) => tool.group === name).length ?? 0,
      reachable,
      ...(lastSeenMs === undefined ? {} : { lastSeen: timeText(lastSeenMs) }),
    };
  });
}

/** The tools with their schemas while there is room, else without; where even names do not fit, the rest is counted. */
function tools(pin: Pin): { tools: unknown; toolsOmitted?: number } {
  const whole = pin.content.tools.map((tool) => shownTool(pin, tool, true));
  if (bytesOf(whole) <= SCHEMAS_BYTES_MAX) return { tools: whole };
  const shown: unknown[] = [];
  let bytes = 0;
  for (const tool of pin.content.tools) {
    const entry = shownTool(pin, tool, false);
    bytes += bytesOf(entry);
    if (bytes > SCHEMAS_BYTES_MAX) break;
    shown.push(entry);
  }
  const omitted = pin.content.tools.length - shown.length;
  return { tools: shown, ...(omitted > 0 ? { toolsOmitted: omitted } : {}) };
}

function shownTool(pin: Pin, tool: PinnedTool, withSchemas: boolean): Record<string, unknown> {
  const name = `${tool.group}.${tool.name}`;
  const policy = compileCallPolicy(pin.content, tool);
  const warnings = pin.warnings
    .filter((warning) => warning.tool === name)
    .map((warning) => cutMessage(warning.message, 1_024));
  const schemas = withSchemas
    ? { inputSchema: tool.inputSchema, ...(tool.outputSchema === undefined ? {} : { outputSchema: tool.outputSchema }) }
    : {};
  return {
    name: name.slice(0, 256),
    digest: pin.contracts[name],
    ...schemas,
    retention: policy.retention,
    policy: {
      approval: policy.approval,
      onInterruption: policy.onInterruption,
      timeout: formatDurationMs(policy.timeoutMs),
      concurrency: policy.concurrency,
      validateArguments: policy.validateArguments,
    },
    ...(warnings.length > 0 ? { warnings: warnings.slice(0, WARNINGS_SHOWN_MAX) } : {}),
  };
}

function limits(pin: Pin) {
  const { concurrency, resultBytes, calls, memoryBytes, cpuMs } = compileRunLimits(pin.content);
  return {
    concurrency,
    resultBytes,
    sandbox: { memory: `${Math.round(memoryBytes / 1024)}Ki`, cpu: formatDurationMs(cpuMs), calls },
  };
}

function bytesOf(value: unknown): number {
  return Buffer.byteLength(stringifyExact(value));
}

function timeText(timeMs: number): string {
  return new Date(timeMs).toISOString().replace(/\.\d{3}Z$/, "Z");
}
