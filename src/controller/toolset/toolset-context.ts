import type { ToolsetSpec } from "../../api/toolset-spec.ts";
import type { ToolsetStatus } from "../../api/toolset-status.ts";
import type { ToolsetState } from "../../journal/toolsets.ts";
import type { Pin } from "../../toolset/pin.ts";
import type { Launcher } from "../launcher.ts";
import type { Pass, PassTools } from "../reconcile-pass.ts";

/** What the steps of a Toolset's reconcile share. */
export interface ToolsetContext {
  readonly tools: PassTools;
  readonly pass: Pass<ToolsetStatus>;
  readonly spec: ToolsetSpec;
  readonly launcher: Launcher;
  /** The journal's side of it. */
  state: ToolsetState | undefined;
  pin: Pin | undefined;
  /** Names of runs that have not ended. */
  unfinished: readonly string[];
}
