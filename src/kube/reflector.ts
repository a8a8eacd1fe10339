import type { Readable } from "node:stream";
import { type BackoffPolicy, backoffDelayMs } from "../base/backoff.ts";
import { keyText } from "../objects/kinds.ts";
import { keyOf } from "../objects/object-rules.ts";
import { type ObjectCache, type ObjectKey, ObjectStoreError, type StoredObject } from "../objects/store.ts";
import { pause, systemTimers, type Timers } from "../objects/timers.ts";
import { errorOfStatus } from "./api-error.ts";
import type { KubeClient } from "./client.ts";
import { type Collection, LIST_PAGE_SIZE, listCollection, readItem } from "./list.ts";
import { readWatchEvents, type WatchEvent } from "./watch-events.ts";

/** What went wrong while a collection was followed. It goes on by itself: this is for logs and metrics. */
export interface ReflectorProblem {
  readonly path: string;
  readonly during: "list" | "watch";
  readonly error: unknown;
  readonly retryAfterMs: number;
}

export interface ReflectorOptions {
  readonly client: KubeClient;
  readonly collection: Collection;
  /** Told for each object that was made, changed or removed; must not throw. */
  readonly onChange: (key: ObjectKey) => void;
  readonly onProblem: (problem: ReflectorProblem) => void;
  readonly pageSize?: number;
  /** How long the server keeps a watch open, at least; up to half as long again. */
  readonly watchTimeoutMs?: number;
  /** A watch that brought nothing for this long is taken for dead. Bookmarks come about every minute. */
  readonly idleTimeoutMs?: number;
  readonly retry?: BackoffPolicy;
  readonly timers?: Timers;
  readonly random?: () => number;
}

const DEFAULTS = {
  pageSize: LIST_PAGE_SIZE,
  watchTimeoutMs: 300_000,
  idleTimeoutMs: 100_000,
  retry: { firstMs: 250, maxMs: 30_000, factor: 2 },
  timers: systemTimers,
  random: Math.random,
};
/** A watch that ends sooner than this without an event counts as a failure, so that a server that closes at once is not stormed. */
const WATCH_MS_MIN = 1_000;
/** Answers with an error in a row after which the list is read anew: the server may not know our version (restored from a backup). */
const REFUSALS_MAX = 4;

/**
 * Follows one collection: lists it page by page, then watches from that version on, bookmarks included. A watch that breaks, ends
 * or goes silent is resumed where it was; only a version the server no longer knows (410) costs a new list. After a list only the
 * objects that differ are told, and those that are unchanged are kept, so that memory holds each object once.
 */
export class Reflector implements ObjectCache {
  readonly #options: Required<ReflectorOptions>;
  readonly #abort = new AbortController();
  readonly #listed = Promise.withResolvers<void>();
  #objects = new Map<string, StoredObject>();
  #version: string | undefined;
  #failures = 0;
  #refusals = 0;
  #lastError: unknown;
  #ended: Promise<void> = Promise.resolve();

  constructor(options: ReflectorOptions) {
    this.#options = { ...DEFAULTS, ...options };
  }

  /** Starts to follow. */
  start(): void {
    this.#ended = this.#run();
  }

  /**
   * Resolves once the first list is complete.
   * @throws ObjectStoreError the last failure, when there was no complete list within `timeoutMs` or the reflector was closed
   */
  async ready(timeoutMs: number): Promise<void> {
    const { timers, collection } = this.#options;
    const late = Promise.withResolvers<never>();
    const fail = (why: string): void =>
      late.reject(this.#lastError ?? new ObjectStoreError("Unavailable", `GET ${collection.path}: ${why}`));
    const cancel = timers.after(timeoutMs, () => fail(`no complete list within ${timeoutMs} ms`));
    const closed = (): void => fail("closed before the first list was complete");
    this.#abort.signal.addEventListener("abort", closed, { once: true });
    try {
      if (this.#abort.signal.aborted) closed();
      await Promise.race([this.#listed.promise, late.promise]);
    } finally {
      cancel();
      this.#abort.signal.removeEventListener("abort", closed);
    }
  }

  get(key: ObjectKey): StoredObject | undefined {
    return this.#objects.get(keyText(key));
  }

  all(): Iterable<StoredObject> {
    return this.#objects.values();
  }

  /** Stops; nothing is told once this has resolved. */
  async close(): Promise<void> {
    this.#abort.abort();
    await this.#ended;
  }

  async #run(): Promise<void> {
    const { signal } = this.#abort;
    while (!signal.aborted) {
      const during = this.#version === undefined ? "list" : "watch";
      try {
        if (this.#version === undefined) await this.#list();
        else await this.#watch(this.#version);
      } catch (error) {
        if (!signal.aborted) await this.#afterFailure(during, error);
      }
    }
  }

  async #afterFailure(during: "list" | "watch", error: unknown): Promise<void> {
    const { collection, retry, timers, random } = this.#options;
    this.#lastError = error;
    this.#failures += 1;
    const httpStatus = error instanceof ObjectStoreError ? error.httpStatus : undefined;
    if (httpStatus !== undefined && httpStatus !== 429) this.#refusals += 1;
    if (httpStatus === 410 || this.#refusals >= REFUSALS_MAX) this.#version = undefined;
    const retryAfterMs = backoffDelayMs(retry, this.#failures, random());
    this.#report({ path: collection.path, during, error, retryAfterMs });
    await pause(timers, retryAfterMs, this.#abort.signal);
  }

  #report(problem: ReflectorProblem): void {
    try {
      this.#options.onProblem(problem);
    } catch {
      // The reporter is a logger: its own failure must not end the watch, and there is nowhere else to tell it.
    }
  }

  #wentWell(): void {
    this.#failures = 0;
    this.#refusals = 0;
  }

  async #list(): Promise<void> {
    const { client, collection, pageSize } = this.#options;
    const before = this.#objects;
    const intern = (object: StoredObject): StoredObject => {
      const known = before.get(keyText(keyOf(object)));
      return known !== undefined && sameVersion(known, object) ? known : object;
    };
    const listing = await listCollection(client, collection, { pageSize, signal: this.#abort.signal, intern });
    this.#objects = listing.objects;
    this.#version = listing.resourceVersion;
    this.#wentWell();
    for (const [text, object] of listing.objects) if (before.get(text) !== object) this.#tell(object);
    for (const [text, object] of before) if (!listing.objects.has(text)) this.#tell(object);
    this.#listed.resolve();
  }

  async #watch(version: string): Promise<void> {
    const { client, collection, timers, idleTimeoutMs, watchTimeoutMs, random } = this.#options;
    const startMs = timers.monotonicMs();
    const timeoutSeconds = Math.ceil((watchTimeoutMs * (1 + random() / 2)) / 1_000);
    const query = { watch: true, allowWatchBookmarks: true, resourceVersion: version, timeoutSeconds };
    const { signal } = this.#abort;
    const body = await client.stream({ path: collection.path, query, signal, idleTimeoutMs });
    let events = 0;
    try {
      for await (const event of readWatchEvents(body as AsyncIterable<Buffer>)) {
        if (signal.aborted) return;
        this.#take(event);
        events += 1;
        this.#wentWell();
      }
    } finally {
      discard(body);
    }
    if (events > 0 || timers.monotonicMs() - startMs >= WATCH_MS_MIN) return this.#wentWell();
    throw new ObjectStoreError("Unavailable", `GET ${collection.path}: the watch ended at once`);
  }

  #take(event: WatchEvent): void {
    const { collection } = this.#options;
    if (event.type === "ERROR") throw errorOfStatus(`GET ${collection.path}`, event.object);
    if (event.type === "BOOKMARK") {
      this.#version = bookmarkVersion(event) ?? this.#version;
      return;
    }
    const object = readItem(collection, event.object);
    if (event.type === "DELETED") this.#objects.delete(keyText(keyOf(object)));
    else this.#objects.set(keyText(keyOf(object)), object);
    this.#version = object.metadata.resourceVersion;
    this.#tell(object);
  }

  #tell(object: StoredObject): void {
    if (!this.#abort.signal.aborted) this.#options.onChange(keyOf(object));
  }
}

function bookmarkVersion(event: WatchEvent): string | undefined {
  const { metadata } = event.object as { metadata?: { resourceVersion?: unknown } };
  return typeof metadata?.resourceVersion === "string" ? metadata.resourceVersion : undefined;
}

function sameVersion(left: StoredObject, right: StoredObject): boolean {
  return left.metadata.uid === right.metadata.uid && left.metadata.resourceVersion === right.metadata.resourceVersion;
}

/** A body that is destroyed early reports that as an error, which nobody waits for any more. */
function discard(body: Readable): void {
  body.on("error", () => undefined);
  body.destroy();
}
