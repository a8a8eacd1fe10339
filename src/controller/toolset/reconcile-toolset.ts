import type { Toolset } from "../../api/resources.ts";
import { unsupportedFields } from "../../api/supported.ts";
import type { ToolsetSpec } from "../../api/toolset-spec.ts";
import type { ToolsetStatus } from "../../api/toolset-status.ts";
import { forgetToolset } from "../../journal/toolsets.ts";
import type { ObjectCache, ObjectKey } from "../../objects/store.ts";
import type { WorkOutcome } from "../../objects/work-queue.ts";
import type { Launcher } from "../launcher.ts";
import { Pass, type PassTools, runSteps } from "../reconcile-pass.ts";
import { declareStep } from "./declare.ts";
import { deletionStep } from "./deletion.ts";
import { observeStep } from "./observe.ts";
import { PinRetries } from "./retry-pin.ts";
import { showStep } from "./show.ts";
import type { ToolsetContext } from "./toolset-context.ts";

export interface ToolsetReconcilerSpec {
  readonly tools: PassTools;
  readonly toolsets: ObjectCache;
  readonly launcher: Launcher;
  /** Tells the controller that runs which wait for this Toolset may go on now. */
  readonly touchRuns: (namespace: string, toolset: string) => void;
}

/** Brings Toolsets into the journal, and their pins into status and a ConfigMap. */
export class ToolsetReconciler {
  readonly #spec: ToolsetReconcilerSpec;
  readonly #retries = new PinRetries();

  constructor(spec: ToolsetReconcilerSpec) {
    this.#spec = spec;
  }

  async reconcile(key: ObjectKey): Promise<WorkOutcome | undefined> {
    const object = this.#spec.toolsets.get(key);
    const { tools } = this.#spec;
    if (!object) {
      await forgetToolset(tools.sql, key.namespace, key.name);
      this.#spec.touchRuns(key.namespace, key.name);
      return undefined;
    }
    const pass = new Pass<ToolsetStatus>(object, {});
    const spec = object.spec as ToolsetSpec;
    const context: ToolsetContext = { ...this.#spec, pass, spec, state: undefined, pin: undefined, unfinished: [] };
    // What does nothing yet must not be half carried out: such a Toolset stays out of the journal.
    const isSupported = unsupportedFields(object as unknown as Toolset).length === 0;
    const steps = isSupported ? [observeStep, deletionStep, declareStep, this.#retries.step, showStep] : [showStep];
    await runSteps(context, steps);
    // A finalizer was written: the object that comes with it is looked at again.
    if (pass.stopped) return undefined;
    const outcome = await pass.write("Toolset", tools);
    this.#spec.touchRuns(key.namespace, key.name);
    return outcome;
  }
}
