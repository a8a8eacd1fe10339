import type { RunSpec } from "../../api/run-spec.ts";
import type { RunStatus } from "../../api/run-status.ts";
import type { RunView } from "../../journal/runs.ts";
import type { ToolsetState } from "../../journal/toolsets.ts";
import type { ObjectCache } from "../../objects/store.ts";
import type { Pass, PassTools } from "../reconcile-pass.ts";

/** What the steps of a Run's reconcile share. */
export interface RunContext {
  readonly tools: PassTools;
  readonly pass: Pass<RunStatus>;
  readonly spec: RunSpec;
  readonly toolsets: ObjectCache;
  /** The journal's side of it, once there is one. */
  view: RunView | undefined;
  /** The run of an earlier object of the same name and spec, which is shown instead (semantics 14.5). */
  alreadyRan: boolean;
  /** Whether the object was deleted by this pass, so that there is no status to write. */
  expired: boolean;
  toolset: ToolsetState | undefined;
  /** Whether an unfinished run of the same name and spec goes on as this object: locally, where the objects may be lost. */
  readonly adoptsUnfinished: boolean;
  /** Tells the controller that the number of the Toolset's unfinished runs changed. */
  readonly touchToolset: (namespace: string, name: string) => void;
}
