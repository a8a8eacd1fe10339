import { jsonCopy, sameJson } from "../objects/json-value.ts";
import { kindFacts } from "../objects/kinds.ts";
import { ChangeListeners } from "../objects/listeners.ts";
import { keyOf } from "../objects/object-rules.ts";
import {
  type MetadataPatch,
  type ObjectCache,
  type ObjectDraft,
  type ObjectEvent,
  type ObjectKey,
  type ObjectKind,
  type ObjectStore,
  ObjectStoreError,
  type StoredObject,
} from "../objects/store.ts";
import { readStoredObject } from "../objects/stored-object.ts";
import type { ApiRequest, KubeClient } from "./client.ts";
import type { EventRecorder } from "./events.ts";
import { type Collection, listCollection } from "./list.ts";
import { Reflector, type ReflectorOptions, type ReflectorProblem } from "./reflector.ts";
import { collectionPath, objectPath } from "./resources.ts";

/** Whose changes these are, in `metadata.managedFields`. */
export const FIELD_MANAGER = "holdpoint-controller";

export interface KubeStoreOptions {
  readonly client: KubeClient;
  readonly events: EventRecorder;
  readonly onProblem: (problem: ReflectorProblem) => void;
  /** A handler of `watch` threw. */
  readonly onHandlerError: (error: unknown) => void;
  /** How long a first list may take before `watch` gives up. */
  readonly firstListTimeoutMs?: number;
  /** Only this namespace, where the controller may not look at all of them. */
  readonly namespace?: string;
  /** Timings of the reflectors, for tests. */
  readonly reflector?: Pick<ReflectorOptions, "pageSize" | "watchTimeoutMs" | "idleTimeoutMs" | "retry">;
}

const FIRST_LIST_TIMEOUT_MS = 120_000;

interface Watch {
  readonly reflector: Reflector;
  readonly listeners: ChangeListeners;
}

/**
 * The object store over the Kubernetes API. One reflector a kind serves all its watches. Statuses are replaced by a JSON patch on
 * the status subresource that carries the resourceVersion: the server answers 409 if that is not the newest, and the patch, unlike
 * a merge, keeps nulls and removes what is no longer there, without sending the spec back.
 */
export class KubeObjectStore implements ObjectStore {
  readonly #options: KubeStoreOptions;
  readonly #client: KubeClient;
  readonly #watches = new Map<ObjectKind, Watch>();
  #closed = false;

  constructor(options: KubeStoreOptions) {
    this.#options = options;
    this.#client = options.client;
  }

  async watch(kind: ObjectKind, onChange: (key: ObjectKey) => void): Promise<ObjectCache> {
    if (this.#closed) throw new ObjectStoreError("Unavailable", "the object store is closed");
    const known = this.#watches.get(kind);
    const { reflector, listeners } = known ?? this.#startWatch(kind);
    // Whoever comes later is told what is there already; the first list tells those who came before it.
    if (known !== undefined) for (const object of [...reflector.all()]) listeners.tell(keyOf(object), onChange);
    listeners.add(onChange);
    await reflector.ready(this.#options.firstListTimeoutMs ?? FIRST_LIST_TIMEOUT_MS);
    return reflector;
  }

  async read(kind: ObjectKind, key: ObjectKey): Promise<StoredObject | undefined> {
    try {
      return await this.#request(kind, { method: "GET", path: objectPath(kind, key) });
    } catch (error) {
      if (error instanceof ObjectStoreError && error.reason === "NotFound") return undefined;
      throw error;
    }
  }

  async list(kind: ObjectKind, namespace?: string): Promise<StoredObject[]> {
    const collection = this.#collection(kind, namespace ?? this.#options.namespace);
    return [...(await listCollection(this.#client, collection)).objects.values()];
  }

  create(kind: ObjectKind, draft: ObjectDraft): Promise<StoredObject> {
    const { namespace, ...metadata } = draft.metadata;
    const facts = kindFacts[kind];
    const body = {
      ...draft,
      apiVersion: facts.apiVersion,
      kind,
      metadata: facts.namespaced ? draft.metadata : metadata,
    };
    const path = collectionPath(kind, namespace);
    return this.#request(kind, { method: "POST", path, query: { fieldManager: FIELD_MANAGER }, body });
  }

  async writeStatus(kind: ObjectKind, object: StoredObject, status: unknown): Promise<StoredObject> {
    if (sameJson(object.status, status)) return object;
    return this.#request(kind, {
      method: "PATCH",
      path: `${objectPath(kind, keyOf(object))}/status`,
      query: { fieldManager: FIELD_MANAGER },
      contentType: "application/json-patch+json",
      body: [
        { op: "replace", path: "/metadata/resourceVersion", value: object.metadata.resourceVersion },
        { op: "add", path: "/status", value: jsonCopy(status) },
      ],
    });
  }

  async patchMetadata(kind: ObjectKind, object: StoredObject, patch: MetadataPatch): Promise<StoredObject> {
    if (changesNothing(object, patch)) return object;
    return this.#request(kind, {
      method: "PATCH",
      path: objectPath(kind, keyOf(object)),
      query: { fieldManager: FIELD_MANAGER },
      contentType: "application/merge-patch+json",
      body: { metadata: { ...patch, resourceVersion: object.metadata.resourceVersion } },
    });
  }

  async delete(kind: ObjectKind, key: ObjectKey, uid?: string): Promise<void> {
    const body = {
      apiVersion: "v1",
      kind: "DeleteOptions",
      propagationPolicy: "Background",
      ...(uid === undefined ? {} : { preconditions: { uid } }),
    };
    try {
      await this.#client.request({ method: "DELETE", path: objectPath(kind, key), body });
    } catch (error) {
      // A conflict on the uid: the object that was meant is gone, another stands in its place.
      const gone = uid === undefined ? ["NotFound"] : ["NotFound", "Conflict"];
      if (!(error instanceof ObjectStoreError) || !gone.includes(error.reason)) throw error;
    }
  }

  emit(kind: ObjectKind, object: StoredObject, event: ObjectEvent): void {
    this.#options.events.emit(kind, object, event);
  }

  async close(): Promise<void> {
    this.#closed = true;
    const watches = [...this.#watches.values()];
    await Promise.all([...watches.map(({ reflector }) => reflector.close()), this.#options.events.close()]);
    for (const { listeners } of watches) listeners.clear();
  }

  #startWatch(kind: ObjectKind): Watch {
    const { client, onProblem, onHandlerError, namespace } = this.#options;
    const listeners = new ChangeListeners(onHandlerError);
    const reflector = new Reflector({
      ...this.#options.reflector,
      client,
      collection: this.#collection(kind, namespace),
      onChange: (key) => listeners.tell(key),
      onProblem,
    });
    const watch = { reflector, listeners };
    this.#watches.set(kind, watch);
    reflector.start();
    return watch;
  }

  #collection(kind: ObjectKind, namespace: string | undefined): Collection {
    return { path: collectionPath(kind, namespace), apiVersion: kindFacts[kind].apiVersion, kind };
  }

  async #request(kind: ObjectKind, request: ApiRequest): Promise<StoredObject> {
    const answer = await this.#client.request(request);
    return readStoredObject(answer, { apiVersion: kindFacts[kind].apiVersion, kind });
  }
}

function changesNothing(object: StoredObject, patch: MetadataPatch): boolean {
  const { finalizers = [], annotations = {} } = object.metadata;
  const sameFinalizers = patch.finalizers === undefined || sameJson(patch.finalizers, finalizers);
  const changed = Object.entries(patch.annotations ?? {}).filter(
    ([name, value]) => (annotations[name] ?? null) !== value,
  );
  return sameFinalizers && changed.length === 0;
}
