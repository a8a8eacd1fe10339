import { reportOf, toolsetReadiness } from "./readiness.ts";
import type { ToolsetContext } from "./toolset-context.ts";
import { toolsetStatusOf } from "./toolset-status.ts";

/** Shows what the journal knows. States `Ready`, `Pinned`, `Reachable`, `Drifted`, `DispatcherReady`, and kstatus' own. */
export async function showStep({ pass, spec, state, pin, unfinished, launcher }: ToolsetContext): Promise<void> {
  const { declarations } = pass.status;
  pass.status = {
    ...toolsetStatusOf(spec, state, pin, unfinished.length),
    ...(declarations === undefined ? {} : { declarations }),
  };
  const { ready, reason, message } = toolsetReadiness(pass.object, state);
  pass.condition("Ready", ready ? "True" : "False", reason, message);
  pinnedCondition({ pass, pin, reason, message });
  const report = reportOf(state);
  const failed = report?.servers.find((server) => !server.reachable);
  if (failed)
    pass.condition(
      "Reachable",
      "False",
      report?.fault?.code ?? "ServerUnreachable",
      failed.message ?? `${failed.name} does not answer`,
    );
  else if (report) pass.condition("Reachable", "True", "Reachable", "every server answered when it was last asked");
  if (pin) pass.condition("Drifted", "False", "InSync", "the servers offered what is pinned when they were last asked");
  dispatcherCondition(pass, spec.suspend ?? false, state === undefined ? 0 : launcher.running(state.toolsetId));
  if (reason === "Pinning") pass.condition("Reconciling", "True", "Progressing", message);
  else if (reason === "NotSupportedYet") pass.condition("Stalled", "True", "NotSupportedYet", message);
  if (!ready && reason !== "Pinning") pass.event("Warning", reason, message);
}

function pinnedCondition({
  pass,
  pin,
  reason,
  message,
}: Pick<ToolsetContext, "pass" | "pin"> & { reason: string; message: string }): void {
  if (!pin) {
    const isPinning = reason === "Pinning";
    return pass.condition("Pinned", "False", isPinning ? "Pinning" : "NotPinned", message);
  }
  if (pin.refused.length === 0) return pass.condition("Pinned", "True", "Pinned", `${pin.content.tools.length} tools`);
  const left = pin.refused.map(({ tool, message: why }) => `${tool}: ${why}`).join("; ");
  pass.condition("Pinned", "True", "PinnedPartly", `${pin.content.tools.length} tools; left out: ${left}`);
}

function dispatcherCondition(pass: ToolsetContext["pass"], suspended: boolean, running: number): void {
  if (suspended)
    return pass.condition("DispatcherReady", "False", "Suspended", "the Toolset is suspended: nothing is sent");
  if (running > 0) return pass.condition("DispatcherReady", "True", "Running", "a dispatcher works");
  pass.condition("DispatcherReady", "True", "Idle", "there is no work, so none runs");
}
