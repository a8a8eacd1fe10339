/**
 * The objects that reconcilers see: Kubernetes' own store, or the one in memory of `holdpoint dev`. Only what the
 * reconcilers need: list and watch, read, apply a status, create and delete, and events.
 */
export interface ObjectStore {
  /**
   * Keeps a cache of one kind and tells its changes. Handlers get only the key: they read the newest object from the cache,
   * so that changes in quick succession may be told once. Resolves once the first list is complete.
   */
  watch(kind: ObjectKind, onChange: (key: ObjectKey) => void): Promise<ObjectCache>;
  /** Reads one object from the store itself, past every cache; undefined when there is none. */
  read(kind: ObjectKind, key: ObjectKey): Promise<StoredObject | undefined>;
  /**
   * Lists all objects of a kind from the store itself. Complete or rejected, never cut.
   * @param namespace only of this one when given
   */
  list(kind: ObjectKind, namespace?: string): Promise<StoredObject[]>;
  /** Creates an object. @throws ObjectStoreError `Exists` */
  create(kind: ObjectKind, object: ObjectDraft): Promise<StoredObject>;
  /**
   * Replaces the object's status where it still has that resourceVersion. Writes nothing when the status is equal already.
   * @throws ObjectStoreError `Conflict`, `NotFound`, `Refused`
   */
  writeStatus(kind: ObjectKind, object: StoredObject, status: unknown): Promise<StoredObject>;
  /** Merges into metadata (finalizers, annotations, labels) where the object still has that resourceVersion. */
  patchMetadata(kind: ObjectKind, object: StoredObject, metadata: MetadataPatch): Promise<StoredObject>;
  /** Deletes an object, only of this uid when given. No error when there is none. */
  delete(kind: ObjectKind, key: ObjectKey, uid?: string): Promise<void>;
  /** Records an event on an object. Best effort: never rejects, repeated ones are counted up. */
  emit(kind: ObjectKind, object: StoredObject, event: ObjectEvent): void;
  /** Stops every watch. */
  close(): Promise<void>;
}

/** What the reconcilers touch. Names as Kubernetes has them. */
export type ObjectKind = "Toolset" | "Run" | "Credential" | "ConfigMap" | "Secret" | "Namespace";

export interface ObjectKey {
  readonly namespace: string;
  readonly name: string;
}

export interface ObjectMetadata {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation: number;
  readonly creationTimestamp: string;
  readonly deletionTimestamp?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly finalizers?: readonly string[];
  readonly generateName?: string;
  readonly ownerReferences?: readonly OwnerReference[];
}

export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
  readonly blockOwnerDeletion?: boolean;
}

/** An object as stored. `spec`, `status`, `data` are unknown here: `api/` says what they are. Never changed in place. */
export interface StoredObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMetadata;
  readonly spec?: unknown;
  readonly status?: unknown;
  readonly data?: Readonly<Record<string, string>>;
  readonly immutable?: boolean;
}

export interface ObjectDraft {
  readonly metadata: {
    readonly namespace: string;
    readonly name: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly ownerReferences?: readonly OwnerReference[];
  };
  readonly spec?: unknown;
  readonly data?: Readonly<Record<string, string>>;
  readonly immutable?: boolean;
}

export interface MetadataPatch {
  readonly finalizers?: readonly string[];
  /** A null removes the annotation. */
  readonly annotations?: Readonly<Record<string, string | null>>;
}

export interface ObjectEvent {
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
}

/** A read-only view of one kind's newest known objects. */
export interface ObjectCache {
  get(key: ObjectKey): StoredObject | undefined;
  all(): Iterable<StoredObject>;
}

export type ObjectStoreErrorReason = "Exists" | "Conflict" | "NotFound" | "Refused" | "Unavailable";

/** Why the store did not do it. `Refused` carries the store's own message (schema, admission, permission). */
export class ObjectStoreError extends Error {
  override readonly name = "ObjectStoreError";
  readonly reason: ObjectStoreErrorReason;
  readonly httpStatus: number | undefined;

  constructor(reason: ObjectStoreErrorReason, message: string, httpStatus?: number) {
    super(message);
    this.reason = reason;
    this.httpStatus = httpStatus;
  }
}
