import { randomUUID } from "node:crypto";
import { type Clock, systemClock } from "../base/clock.ts";
import type { Json } from "../base/exact-json.ts";
import { EventLog, type RecordedEvent } from "./event-log.ts";
import { deepFreeze, jsonCopy, mergePatch, sameJson } from "./json-value.ts";
import { keyText, kindFacts, objectKinds } from "./kinds.ts";
import { type ChangeHandler, ChangeListeners } from "./listeners.ts";
import { checkKey, conflict, exists, keyOf, notFound, refused } from "./object-rules.ts";
import type { StateFolder } from "./state-folder.ts";
import type {
  MetadataPatch,
  ObjectCache,
  ObjectDraft,
  ObjectEvent,
  ObjectKey,
  ObjectKind,
  ObjectMetadata,
  ObjectStore,
  StoredObject,
} from "./store.ts";

/** A manifest as its author wrote it: what the store fills in (uid, status, …) is ignored. A Secret may have `stringData`. */
export interface Manifest extends ObjectDraft {
  readonly stringData?: Readonly<Record<string, string>>;
}

export interface MemoryStoreOptions {
  /** Keeps the objects over restarts. Secrets are never written there: their manifests are read again at each start. */
  readonly folder?: StateFolder;
  /** Stands for schema and admission: says what is wrong with a new content, path by path; an empty list lets it in. */
  readonly admit?: (kind: ObjectKind, next: StoredObject, previous: StoredObject | undefined) => readonly string[];
  /** Told of each event at once, so that a terminal can show it. */
  readonly onEvent?: (event: RecordedEvent) => void;
  readonly onHandlerError: (error: unknown) => void;
  readonly clock?: Clock;
}

const EVENTS_MAX = 1_000;

/**
 * The object store of `holdpoint dev`: as the API server does it, in one process. Writes are done one after another, so that two
 * on the same resourceVersion cannot both succeed; objects are frozen. Namespaces need not be created. Owners' removal removes
 * what they own, as the garbage collector does it.
 */
export class MemoryObjectStore implements ObjectStore {
  readonly #options: MemoryStoreOptions;
  readonly #clock: Clock;
  readonly #objects = new Map<ObjectKind, Map<string, StoredObject>>();
  readonly #listeners = new Map<ObjectKind, ChangeListeners>();
  readonly #events = new EventLog(EVENTS_MAX);
  #lastVersion = 0;
  #lastWrite: Promise<unknown> = Promise.resolve();

  private constructor(options: MemoryStoreOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    for (const kind of objectKinds) {
      this.#objects.set(kind, new Map());
      this.#listeners.set(kind, new ChangeListeners(options.onHandlerError));
    }
  }

  /** @throws HoldpointError `StateFolderCorrupt` */
  static async open(options: MemoryStoreOptions): Promise<MemoryObjectStore> {
    const store = new MemoryObjectStore(options);
    for (const object of (await options.folder?.load()) ?? []) {
      store.#of(object.kind as ObjectKind).set(keyText(keyOf(object)), deepFreeze(object));
      store.#lastVersion = Math.max(store.#lastVersion, Number(object.metadata.resourceVersion));
    }
    return store;
  }

  async watch(kind: ObjectKind, onChange: ChangeHandler): Promise<ObjectCache> {
    const objects = this.#of(kind);
    this.#listenersOf(kind).add(onChange);
    for (const object of [...objects.values()]) this.#listenersOf(kind).tell(keyOf(object), onChange);
    return { get: (key) => objects.get(keyText(key)), all: () => objects.values() };
  }

  async read(kind: ObjectKind, key: ObjectKey): Promise<StoredObject | undefined> {
    return this.#of(kind).get(keyText(key));
  }

  async list(kind: ObjectKind, namespace?: string): Promise<StoredObject[]> {
    const all = [...this.#of(kind).values()];
    return namespace === undefined ? all : all.filter((object) => object.metadata.namespace === namespace);
  }

  create(kind: ObjectKind, draft: ObjectDraft): Promise<StoredObject> {
    return this.#exclusively(() => this.#create(kind, draft));
  }

  writeStatus(kind: ObjectKind, object: StoredObject, status: unknown): Promise<StoredObject> {
    return this.#exclusively(async () => {
      if (sameJson(object.status, status)) return object;
      const current = this.#current(kind, object);
      return this.#replace(kind, current, { ...current, status: jsonCopy(status) });
    });
  }

  patchMetadata(kind: ObjectKind, object: StoredObject, patch: MetadataPatch): Promise<StoredObject> {
    return this.#exclusively(async () => {
      const current = this.#current(kind, object);
      const metadata = patchedMetadata(current.metadata, patch);
      if (sameJson(metadata, current.metadata)) return current;
      const known = current.metadata.finalizers ?? [];
      const added = (patch.finalizers ?? []).filter((finalizer) => !known.includes(finalizer));
      if (current.metadata.deletionTimestamp !== undefined && added.length > 0)
        throw refused(kind, keyOf(current), `no new finalizers can be added while it is being deleted: ${added}`);
      const next = { ...current, metadata };
      if (metadata.deletionTimestamp === undefined || (metadata.finalizers ?? []).length > 0)
        return this.#replace(kind, current, next);
      await this.#remove(kind, current);
      return deepFreeze(next);
    });
  }

  delete(kind: ObjectKind, key: ObjectKey, uid?: string): Promise<void> {
    return this.#exclusively(() => this.#delete(kind, key, uid));
  }

  emit(kind: ObjectKind, object: StoredObject, event: ObjectEvent): void {
    const recorded = this.#events.record(kind, object, event, new Date(this.#clock.nowMs()).toISOString());
    try {
      this.#options.onEvent?.(recorded);
    } catch (error) {
      this.#options.onHandlerError(error);
    }
  }

  /** The newest thousand events, oldest first. */
  events(): RecordedEvent[] {
    return this.#events.all();
  }

  async close(): Promise<void> {
    for (const listeners of this.#listeners.values()) listeners.clear();
    await this.#lastWrite;
  }

  /**
   * Creates the object, or makes its labels, annotations, spec and data those of the manifest, as `kubectl replace` does; uid and status stay.
   * @throws ObjectStoreError `Refused`
   */
  apply(kind: ObjectKind, manifest: Manifest): Promise<StoredObject> {
    return this.#exclusively(async () => {
      const draft = withEncodedData(manifest);
      const current = this.#of(kind).get(keyText(draft.metadata));
      if (current === undefined) return this.#create(kind, draft);
      const { spec: _spec, data: _data, immutable: _immutable, ...kept } = current;
      const { labels: _labels, annotations: _annotations, ...identity } = current.metadata;
      const metadata = { ...identity, ...optional(draft.metadata, ["labels", "annotations", "ownerReferences"]) };
      return this.#replaceContent(kind, current, { ...kept, ...optional(draft, CONTENT), metadata });
    });
  }

  /**
   * Merges into spec (RFC 7396), as `kubectl patch` does: a decision on a parked call, a cancellation.
   * @throws ObjectStoreError `NotFound`, `Refused`
   */
  patchSpec(kind: ObjectKind, key: ObjectKey, patch: Json): Promise<StoredObject> {
    return this.#exclusively(async () => {
      const current = this.#of(kind).get(keyText(key));
      if (current === undefined) throw notFound(kind, key);
      const spec = mergePatch(jsonCopy(current.spec), patch);
      return this.#replaceContent(kind, current, { ...current, spec });
    });
  }

  async #create(kind: ObjectKind, draft: ObjectDraft): Promise<StoredObject> {
    const { namespace, name } = draft.metadata;
    checkKey(kind, draft.metadata);
    if (this.#of(kind).has(keyText(draft.metadata))) throw exists(kind, draft.metadata);
    const object: StoredObject = {
      apiVersion: kindFacts[kind].apiVersion,
      kind,
      metadata: {
        namespace,
        name,
        uid: randomUUID(),
        resourceVersion: "",
        generation: kindFacts[kind].counted ? 1 : 0,
        creationTimestamp: this.#timestamp(),
        ...optional(draft.metadata, ["labels", "annotations", "ownerReferences"]),
      },
      ...optional(draft, CONTENT),
    };
    this.#admit(kind, object, undefined);
    return this.#store(kind, object);
  }

  async #replaceContent(kind: ObjectKind, current: StoredObject, next: StoredObject): Promise<StoredObject> {
    const sameData = sameJson([current.data, current.immutable], [next.data, next.immutable]);
    if (current.immutable === true && !sameData)
      throw refused(kind, keyOf(current), "data: field is immutable when `immutable` is set");
    const sameSpec = sameJson(current.spec, next.spec);
    if (sameSpec && sameData && sameJson(current.metadata, next.metadata)) return current;
    this.#admit(kind, next, current);
    const generation = current.metadata.generation + (sameSpec || !kindFacts[kind].counted ? 0 : 1);
    return this.#replace(kind, current, { ...next, metadata: { ...next.metadata, generation } });
  }

  async #replace(kind: ObjectKind, current: StoredObject, next: StoredObject): Promise<StoredObject> {
    return sameJson(current, next) ? current : this.#store(kind, next);
  }

  async #store(kind: ObjectKind, object: StoredObject): Promise<StoredObject> {
    const resourceVersion = String(++this.#lastVersion);
    const versioned = { ...object, metadata: { ...object.metadata, resourceVersion } };
    const stored = deepFreeze(jsonCopy(versioned) as unknown as StoredObject);
    if (kind !== "Secret") await this.#options.folder?.write(stored);
    this.#of(kind).set(keyText(keyOf(stored)), stored);
    this.#listenersOf(kind).tell(keyOf(stored));
    return stored;
  }

  async #delete(kind: ObjectKind, key: ObjectKey, uid: string | undefined): Promise<void> {
    const current = this.#of(kind).get(keyText(key));
    if (current === undefined || (uid !== undefined && uid !== current.metadata.uid)) return;
    if ((current.metadata.finalizers ?? []).length === 0) return this.#remove(kind, current);
    if (current.metadata.deletionTimestamp !== undefined) return;
    // The wish to delete counts as a change of what is wanted, as in the API server.
    const generation = current.metadata.generation + (kindFacts[kind].counted ? 1 : 0);
    const metadata = { ...current.metadata, deletionTimestamp: this.#timestamp(), generation };
    await this.#replace(kind, current, { ...current, metadata });
  }

  async #remove(kind: ObjectKind, object: StoredObject): Promise<void> {
    if (kind !== "Secret") await this.#options.folder?.remove(object);
    this.#of(kind).delete(keyText(keyOf(object)));
    this.#listenersOf(kind).tell(keyOf(object));
    for (const [ownedKind, objects] of this.#objects)
      for (const owned of [...objects.values()])
        if (owned.metadata.ownerReferences?.some((owner) => owner.uid === object.metadata.uid))
          await this.#delete(ownedKind, keyOf(owned), owned.metadata.uid);
  }

  #current(kind: ObjectKind, object: StoredObject): StoredObject {
    const current = this.#of(kind).get(keyText(keyOf(object)));
    if (current === undefined) throw notFound(kind, keyOf(object));
    if (current.metadata.resourceVersion !== object.metadata.resourceVersion) throw conflict(kind, keyOf(object));
    return current;
  }

  #admit(kind: ObjectKind, next: StoredObject, previous: StoredObject | undefined): void {
    const faults = this.#options.admit?.(kind, next, previous) ?? [];
    if (faults.length > 0) throw refused(kind, keyOf(next), faults.join("; "));
  }

  #exclusively<T>(write: () => Promise<T>): Promise<T> {
    const done = this.#lastWrite.then(write);
    this.#lastWrite = done.catch(() => undefined);
    return done;
  }

  #of(kind: ObjectKind): Map<string, StoredObject> {
    return this.#objects.get(kind) ?? new Map();
  }

  #listenersOf(kind: ObjectKind): ChangeListeners {
    return this.#listeners.get(kind) ?? new ChangeListeners(this.#options.onHandlerError);
  }

  /** Kubernetes' times have seconds. */
  #timestamp(): string {
    return new Date(this.#clock.nowMs()).toISOString().replace(/\.\d+Z$/, "Z");
  }
}

const CONTENT = ["spec", "data", "immutable"] as const;

/** The named properties that have a value: an absent one stays absent. */
function optional<T extends object, K extends keyof T>(source: T, names: readonly K[]): Partial<Pick<T, K>> {
  const found: Partial<Pick<T, K>> = {};
  for (const name of names) if (source[name] !== undefined) found[name] = source[name];
  return found;
}

/** Empty lists and maps are left out, as the API server leaves them out. */
function patchedMetadata(metadata: ObjectMetadata, patch: MetadataPatch): ObjectMetadata {
  const { finalizers: knownFinalizers, annotations: knownAnnotations, ...rest } = metadata;
  const finalizers = patch.finalizers ?? knownFinalizers ?? [];
  const annotations = mergePatch({ ...knownAnnotations }, { ...patch.annotations }) as Record<string, string>;
  return {
    ...rest,
    ...(finalizers.length === 0 ? {} : { finalizers }),
    ...(Object.keys(annotations).length === 0 ? {} : { annotations }),
  };
}

function withEncodedData(manifest: Manifest): ObjectDraft {
  const { stringData, ...draft } = manifest;
  if (stringData === undefined) return draft;
  const encoded = Object.entries(stringData).map(([key, text]) => [key, Buffer.from(text, "utf8").toString("base64")]);
  return { ...draft, data: { ...draft.data, ...Object.fromEntries(encoded) } };
}
