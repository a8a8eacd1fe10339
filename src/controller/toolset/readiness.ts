import type { Toolset } from "../../api/resources.ts";
import { unsupportedFields } from "../../api/supported.ts";
import type { DiscoveryReport } from "../../journal/documents.ts";
import type { ToolsetState } from "../../journal/toolsets.ts";
import type { StoredObject } from "../../objects/store.ts";

/** Whether new runs may be taken, and why not. The reason and message are those of the condition `Ready`. */
export interface Readiness {
  readonly ready: boolean;
  readonly reason: string;
  readonly message: string;
}

/**
 * Judges a Toolset: ready once what its spec asks for is pinned. Pure. A spec that cannot be pinned is not ready although an
 * older pin exists: new runs must not slip in under policies that somebody has just replaced.
 */
export function toolsetReadiness(object: StoredObject, state: ToolsetState | undefined): Readiness {
  const fields = unsupportedFields(object as unknown as Toolset);
  if (fields.length > 0) {
    return notReady(
      "NotSupportedYet",
      `this version knows, but does not carry out: ${fields.join(", ")}. Remove it to go on`,
    );
  }
  const isSeen =
    state !== undefined && state.uid === object.metadata.uid && state.generation === object.metadata.generation;
  if (!isSeen || state.pinDone < state.pinWanted)
    return notReady("Pinning", "the servers are being asked for their tools");
  const report = reportOf(state);
  if (report?.fault) return notReady(report.fault.code, report.fault.message);
  if (state.pinDigest === undefined) return notReady("Pinning", "there is no pin yet");
  return { ready: true, reason: "Ready", message: "pinned; runs are taken" };
}

/** What discovery noticed last. */
export function reportOf(state: ToolsetState | undefined): DiscoveryReport | undefined {
  return state?.reportText === undefined ? undefined : (JSON.parse(state.reportText) as DiscoveryReport);
}

function notReady(reason: string, message: string): Readiness {
  return { ready: false, reason, message };
}
