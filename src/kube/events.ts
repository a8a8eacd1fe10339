import { newId } from "../base/ids.ts";
import type { ObjectEvent, ObjectKind, StoredObject } from "../objects/store.ts";
import { ObjectStoreError } from "../objects/store.ts";
import { pause, systemTimers, type Timers } from "../objects/timers.ts";
import type { ApiRequest, KubeClient } from "./client.ts";
import { resourcePath } from "./resources.ts";
import { TokenBucket } from "./token-bucket.ts";

export interface EventRecorderOptions {
  readonly client: KubeClient;
  /** Which program reports: a qualified name such as `holdpoint.dev/controller`. */
  readonly controller: string;
  /** Which instance of it: the pod's name. */
  readonly instance: string;
  /** Events that were not written, for a metric: the queue was full, the object emits too many, or the server refused. Must not throw. */
  readonly onDropped?: (why: "queue" | "rate" | "refused", error?: unknown) => void;
  readonly timers?: Timers;
  /** How long repetitions of an event are only counted before its count is written. */
  readonly repeatMs?: number;
}

/** Distinct events that are remembered for counting; the oldest is forgotten, and would then be written as a new one. */
const ENTRIES_MAX = 1_000;
const QUEUE_MAX = 1_000;
/** Per object, as client-go has it: 25 at once, then one in 5 minutes. */
const OBJECT_BURST = 25;
const OBJECT_REFILL_MS = 300_000;
/** Over all objects: 100 at once, then 10 a second. */
const TOTAL_BURST = 100;
const TOTAL_REFILL_MS = 100;
const TRIES_MAX = 3;
const TRY_AGAIN_MS = 1_000;
const REQUEST_TIMEOUT_MS = 10_000;
const CLOSE_MS_MAX = 2_000;
/** The API's own bounds. */
const NOTE_LENGTH_MAX = 1_024;
const NAME_PREFIX_LENGTH_MAX = 210;

interface Entry {
  readonly id: string;
  readonly kind: ObjectKind;
  readonly regarding: { readonly apiVersion: string; readonly metadata: StoredObject["metadata"] };
  readonly event: ObjectEvent;
  readonly firstAtMs: number;
  /** The Event object's name once it was made. */
  name: string | undefined;
  count: number;
  lastAtMs: number;
  queued: boolean;
  cancelRepeat: (() => void) | undefined;
}

/**
 * Writes `events.k8s.io/v1` Events, best effort: bounded in memory and rate, never in anybody's way. The first occurrence is written
 * at once; repetitions are counted and written as a series from time to time. One request at a time.
 */
export class EventRecorder {
  readonly #options: EventRecorderOptions & { readonly timers: Timers; readonly repeatMs: number };
  readonly #entries = new Map<string, Entry>();
  readonly #buckets = new Map<string, TokenBucket>();
  readonly #total: TokenBucket;
  readonly #queue: Entry[] = [];
  readonly #abort = new AbortController();
  #sending: Promise<void> | undefined;
  #closed = false;

  constructor(options: EventRecorderOptions) {
    this.#options = { timers: systemTimers, repeatMs: 60_000, ...options };
    this.#total = new TokenBucket(this.#options.timers, TOTAL_BURST, TOTAL_REFILL_MS);
  }

  /** Records an event on an object. Never throws and never waits. */
  emit(kind: ObjectKind, object: StoredObject, event: ObjectEvent): void {
    if (this.#closed) return;
    const id = JSON.stringify([object.metadata.uid, event.type, event.reason, event.message]);
    const known = this.#entries.get(id);
    if (known !== undefined) return this.#repeat(known);
    if (!this.#bucketOf(object.metadata.uid).take() || !this.#total.take()) return this.#options.onDropped?.("rate");
    const nowMs = this.#options.timers.nowMs();
    const regarding = { apiVersion: object.apiVersion, metadata: object.metadata };
    const fresh = { name: undefined, count: 1, queued: false, cancelRepeat: undefined };
    const entry: Entry = { id, kind, regarding, event, firstAtMs: nowMs, lastAtMs: nowMs, ...fresh };
    putNewest(this.#entries, id, entry)?.cancelRepeat?.();
    this.#enqueue(entry);
  }

  /** Writes what waits, for two seconds at most. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const entry of this.#entries.values()) entry.cancelRepeat?.();
    const cancel = this.#options.timers.after(CLOSE_MS_MAX, () => this.#abort.abort());
    while (this.#sending !== undefined) await this.#sending;
    cancel();
  }

  #repeat(entry: Entry): void {
    entry.count += 1;
    entry.lastAtMs = this.#options.timers.nowMs();
    putNewest(this.#entries, entry.id, entry);
    if (entry.queued || entry.cancelRepeat !== undefined) return;
    entry.cancelRepeat = this.#options.timers.after(this.#options.repeatMs, () => {
      entry.cancelRepeat = undefined;
      this.#enqueue(entry);
    });
  }

  #enqueue(entry: Entry): void {
    if (this.#queue.length >= QUEUE_MAX) return this.#options.onDropped?.("queue");
    entry.queued = true;
    this.#queue.push(entry);
    this.#startSending();
  }

  #startSending(): void {
    this.#sending ??= this.#send().finally(() => {
      this.#sending = undefined;
      // One may have been queued after the loop found nothing and before this.
      if (this.#queue.length > 0) this.#startSending();
    });
  }

  async #send(): Promise<void> {
    for (let entry = this.#queue.shift(); entry !== undefined; entry = this.#queue.shift()) {
      entry.queued = false;
      if (this.#abort.signal.aborted) this.#options.onDropped?.("queue");
      else await this.#write(entry);
    }
  }

  async #write(entry: Entry): Promise<void> {
    for (let tries = 1; ; tries++) {
      try {
        if (entry.name === undefined) await this.#create(entry);
        else await this.#updateSeries(entry, entry.name);
        return;
      } catch (error) {
        const reason = error instanceof ObjectStoreError ? error.reason : "Refused";
        // The server keeps events for an hour only: a count that finds none is written as a new event.
        if (reason === "NotFound" && entry.name !== undefined) entry.name = undefined;
        else if (reason !== "Unavailable" || tries >= TRIES_MAX) return this.#options.onDropped?.("refused", error);
        if (tries >= TRIES_MAX || this.#abort.signal.aborted) return this.#options.onDropped?.("refused", error);
        await pause(this.#options.timers, tries * TRY_AGAIN_MS, this.#abort.signal);
      }
    }
  }

  async #create(entry: Entry): Promise<void> {
    const { apiVersion, metadata } = entry.regarding;
    const namespace = metadata.namespace === "" ? "default" : metadata.namespace;
    const name = `${metadata.name.slice(0, NAME_PREFIX_LENGTH_MAX)}.${newId()}`;
    const { type, reason, message } = entry.event;
    const body = {
      apiVersion: "events.k8s.io/v1",
      kind: "Event",
      metadata: { name, namespace },
      eventTime: microTime(entry.firstAtMs),
      reportingController: this.#options.controller,
      reportingInstance: this.#options.instance,
      action: "Reconcile",
      type,
      reason,
      note: message.slice(0, NOTE_LENGTH_MAX),
      regarding: {
        apiVersion,
        kind: entry.kind,
        name: metadata.name,
        uid: metadata.uid,
        resourceVersion: metadata.resourceVersion,
        ...(metadata.namespace === "" ? {} : { namespace: metadata.namespace }),
      },
      ...(entry.count > 1 ? { series: seriesOf(entry) } : {}),
    };
    await this.#request({ method: "POST", path: eventsPath(namespace), body });
    entry.name = name;
  }

  async #updateSeries(entry: Entry, name: string): Promise<void> {
    const { namespace } = entry.regarding.metadata;
    await this.#request({
      method: "PATCH",
      path: `${eventsPath(namespace === "" ? "default" : namespace)}/${encodeURIComponent(name)}`,
      contentType: "application/merge-patch+json",
      body: { series: seriesOf(entry) },
    });
  }

  #request(request: ApiRequest): Promise<unknown> {
    return this.#options.client.request({ ...request, timeoutMs: REQUEST_TIMEOUT_MS, signal: this.#abort.signal });
  }

  #bucketOf(uid: string): TokenBucket {
    const bucket = this.#buckets.get(uid) ?? new TokenBucket(this.#options.timers, OBJECT_BURST, OBJECT_REFILL_MS);
    putNewest(this.#buckets, uid, bucket);
    return bucket;
  }
}

/** Makes it the newest entry and forgets the oldest one beyond the bound, which is returned. */
function putNewest<T>(map: Map<string, T>, id: string, value: T): T | undefined {
  map.delete(id);
  map.set(id, value);
  if (map.size <= ENTRIES_MAX) return undefined;
  const [oldest] = map;
  if (oldest === undefined) return undefined;
  map.delete(oldest[0]);
  return oldest[1];
}

function eventsPath(namespace: string): string {
  return resourcePath("events.k8s.io/v1", "events", namespace);
}

function seriesOf(entry: Entry): { count: number; lastObservedTime: string } {
  return { count: entry.count, lastObservedTime: microTime(entry.lastAtMs) };
}

/** Kubernetes' MicroTime: six digits after the point. */
function microTime(ms: number): string {
  return new Date(ms).toISOString().replace(/Z$/, "000Z");
}
