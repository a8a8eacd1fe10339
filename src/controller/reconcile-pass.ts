import type { Clock } from "../base/clock.ts";
import type { Logger } from "../base/log.ts";
import type { Sql } from "../journal/sql.ts";
import type { ObjectEvent, ObjectKind, ObjectStore, StoredObject } from "../objects/store.ts";
import type { WorkOutcome } from "../objects/work-queue.ts";
import { mergeConditions, type StatedCondition } from "./set-condition.ts";

/** What every pass works with. */
export interface PassTools {
  readonly store: ObjectStore;
  readonly sql: Sql;
  readonly clock: Clock;
  readonly log: Logger;
}

/** One pass over one object: what its steps found out, to be written once at the end. */
export class Pass<Status extends object> {
  readonly object: StoredObject;
  /** The members of the new status, but for its conditions. */
  status: Status;
  readonly #conditions = new Map<string, StatedCondition>();
  readonly #events: ObjectEvent[] = [];
  requeueAfterMs: number | undefined;
  /** Set by a step after which nothing more is to be done in this pass. */
  stopped = false;

  constructor(object: StoredObject, status: Status) {
    this.object = object;
    this.status = status;
  }

  condition(type: string, status: StatedCondition["status"], reason: string, message: string): void {
    this.#conditions.set(type, { type, status, reason, message });
  }

  /** An event, emitted only once the status is written. */
  event(type: ObjectEvent["type"], reason: string, message: string): void {
    this.#events.push({ type, reason, message });
  }

  /** Comes again after this long at the latest. */
  comeAgain(afterMs: number): void {
    this.requeueAfterMs = Math.min(this.requeueAfterMs ?? afterMs, afterMs);
  }

  /** Writes the status, if it differs, and then emits what happened. */
  async write(kind: ObjectKind, { store, clock }: PassTools): Promise<WorkOutcome | undefined> {
    const { object } = this;
    const previous = ((object.status ?? {}) as { conditions?: Parameters<typeof mergeConditions>[0] }).conditions ?? [];
    const at = new Date(clock.nowMs()).toISOString().replace(/\.\d{3}Z$/, "Z");
    const { generation } = object.metadata;
    const conditions = mergeConditions(previous, [...this.#conditions.values()], generation, at);
    const written = await store.writeStatus(kind, object, {
      observedGeneration: generation,
      ...this.status,
      conditions,
    });
    // A pass that changed nothing says nothing: events tell what happened, once.
    const isNews = written.metadata.resourceVersion !== object.metadata.resourceVersion;
    if (isNews) for (const event of this.#events) store.emit(kind, written, event);
    return this.requeueAfterMs === undefined ? undefined : { requeueAfterMs: this.requeueAfterMs };
  }
}

/** One step of a reconcile: looks, acts, states its conditions. */
export type Step<Context> = (context: Context) => Promise<void>;

/** Runs the steps in order until one says that nothing more is to be done. */
export async function runSteps<Context extends { readonly pass: { readonly stopped: boolean } }>(
  context: Context,
  steps: readonly Step<Context>[],
): Promise<void> {
  for (const step of steps) {
    await step(context);
    if (context.pass.stopped) return;
  }
}
