import { kindFacts } from "../objects/kinds.ts";
import type { ObjectKey, ObjectKind } from "../objects/store.ts";

/** The path of a kind's collection: in one namespace, or (undefined) over all. */
export function collectionPath(kind: ObjectKind, namespace?: string): string {
  const { apiVersion, plural, namespaced } = kindFacts[kind];
  return resourcePath(apiVersion, plural, namespaced ? namespace : undefined);
}

/** The path of one object. */
export function objectPath(kind: ObjectKind, key: ObjectKey): string {
  return `${collectionPath(kind, key.namespace)}/${encodeURIComponent(key.name)}`;
}

/** The path of a collection of any API; the core group has a root of its own. */
export function resourcePath(apiVersion: string, plural: string, namespace?: string): string {
  const root = apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  return namespace === undefined
    ? `${root}/${plural}`
    : `${root}/namespaces/${encodeURIComponent(namespace)}/${plural}`;
}
