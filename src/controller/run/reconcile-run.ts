import type { RunSpec } from "../../api/run-spec.ts";
import { FINAL_RUN_PHASES, type RunStatus } from "../../api/run-status.ts";
import { cancelRun, viewRunOfObject } from "../../journal/runs.ts";
import { toolsetChannel } from "../../journal/sql.ts";
import { keyText } from "../../objects/kinds.ts";
import type { ObjectCache, ObjectKey, StoredObject } from "../../objects/store.ts";
import type { WorkOutcome } from "../../objects/work-queue.ts";
import { Pass, type PassTools, runSteps } from "../reconcile-pass.ts";
import { admitStep } from "./admit.ts";
import { cancelStep } from "./cancel.ts";
import { decideStep } from "./decide.ts";
import { expireStep } from "./expire.ts";
import type { RunContext } from "./run-context.ts";
import { shareArgumentsStep } from "./share-arguments.ts";
import { showStep } from "./show.ts";
import { supportedStep } from "./supported.ts";

const STEPS = [supportedStep, admitStep, cancelStep, decideStep, shareArgumentsStep, showStep, expireStep];

export interface RunReconcilerSpec {
  readonly tools: PassTools;
  readonly runs: ObjectCache;
  readonly toolsets: ObjectCache;
  readonly adoptsUnfinished: boolean;
  readonly touchToolset: (namespace: string, name: string) => void;
}

/** Brings Runs into the journal, and the journal's facts into their status. */
export class RunReconciler {
  readonly #spec: RunReconcilerSpec;
  /** The uid behind each name when it was last there: a deletion names only the key. */
  readonly #uids = new Map<string, string>();

  constructor(spec: RunReconcilerSpec) {
    this.#spec = spec;
  }

  async reconcile(key: ObjectKey): Promise<WorkOutcome | undefined> {
    const object = this.#spec.runs.get(key);
    const known = this.#uids.get(keyText(key));
    if (known !== undefined && known !== object?.metadata.uid) await this.#deleted(key, known);
    if (!object) return undefined;
    this.#uids.set(keyText(key), object.metadata.uid);
    if (object.metadata.deletionTimestamp !== undefined) return await this.#deleted(key, object.metadata.uid);
    const { tools } = this.#spec;
    const view = await viewRunOfObject(tools.sql, object.metadata.uid);
    if (!view && isRefusedForGood(object)) return undefined;
    const pass = new Pass<RunStatus>(object, {});
    const context: RunContext = {
      ...this.#spec,
      pass,
      spec: object.spec as RunSpec,
      view,
      alreadyRan: false,
      expired: false,
      toolset: undefined,
    };
    await runSteps(context, STEPS);
    if (context.expired) return undefined;
    return await pass.write("Run", tools);
  }

  /** Deleting a Run cancels it (semantics 7.7). */
  async #deleted(key: ObjectKey, uid: string): Promise<undefined> {
    const { sql, log } = this.#spec.tools;
    const cancelled = await cancelRun(sql, uid, "the Run was deleted");
    this.#uids.delete(keyText(key));
    if (!cancelled) return undefined;
    log.info({ name: key.name, namespace: key.namespace }, "the Run was deleted, so it is cancelled");
    sql.notify(toolsetChannel(cancelled.toolsetId));
    return undefined;
  }
}

/** It ended without ever having been in the journal: what its status says stands. */
function isRefusedForGood({ status }: StoredObject): boolean {
  const { phase, runId, conditions = [] } = (status ?? {}) as RunStatus;
  const alreadyRan = conditions.some((condition) => condition.type === "Accepted" && condition.reason === "AlreadyRan");
  return runId === undefined && !alreadyRan && (FINAL_RUN_PHASES as readonly unknown[]).includes(phase);
}
