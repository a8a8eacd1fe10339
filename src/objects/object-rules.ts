import { kindFacts } from "./kinds.ts";
import { type ObjectKey, type ObjectKind, ObjectStoreError, type StoredObject } from "./store.ts";

const LABEL = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;
const SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const NAME_LENGTH_MAX = 253;

/**
 * Holds a key against Kubernetes' rules for names; it also keeps a name from being a path of the state folder.
 * @throws ObjectStoreError `Refused`
 */
export function checkKey(kind: ObjectKind, key: ObjectKey): void {
  if (key.name.length > NAME_LENGTH_MAX || !SUBDOMAIN.test(key.name))
    throw refused(
      kind,
      key,
      `metadata.name "${key.name}" must be lower-case letters, digits, "-" and "." (at most 253)`,
    );
  if (!kindFacts[kind].namespaced && key.namespace !== "")
    throw refused(kind, key, "metadata.namespace must be empty: the kind stands in no namespace");
  if (kindFacts[kind].namespaced && !LABEL.test(key.namespace))
    throw refused(
      kind,
      key,
      `metadata.namespace "${key.namespace}" must be lower-case letters, digits and "-" (1 to 63)`,
    );
}

/** What the API server says of a write on a state that is no longer the newest. */
export function conflict(kind: ObjectKind, key: ObjectKey): ObjectStoreError {
  return new ObjectStoreError("Conflict", `${nameOf(kind, key)} has been modified; read the newest and try again`, 409);
}

/** What the API server says of an object that is not there. */
export function notFound(kind: ObjectKind, key: ObjectKey): ObjectStoreError {
  return new ObjectStoreError("NotFound", `${nameOf(kind, key)} not found`, 404);
}

/** What the API server says of an object that is there already. */
export function exists(kind: ObjectKind, key: ObjectKey): ObjectStoreError {
  return new ObjectStoreError("Exists", `${nameOf(kind, key)} already exists`, 409);
}

/** What the API server says of content that it does not take. */
export function refused(kind: ObjectKind, key: ObjectKey, why: string): ObjectStoreError {
  return new ObjectStoreError("Refused", `${nameOf(kind, key)} is invalid: ${why}`, 422);
}

/** The key of an object. */
export function keyOf(object: StoredObject): ObjectKey {
  return { namespace: object.metadata.namespace, name: object.metadata.name };
}

function nameOf(kind: ObjectKind, key: ObjectKey): string {
  return `${kindFacts[kind].plural} "${key.namespace === "" ? "" : `${key.namespace}/`}${key.name}"`;
}
