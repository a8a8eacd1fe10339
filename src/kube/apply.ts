import type { OwnerReference, StoredObject } from "../objects/store.ts";
import { readStoredObject } from "../objects/stored-object.ts";
import type { KubeClient } from "./client.ts";
import { FIELD_MANAGER } from "./kube-store.ts";
import { resourcePath } from "./resources.ts";

/** A kind that Holdpoint makes but does not follow: a dispatcher's Deployment, its Secret, its NetworkPolicy. */
export interface AppliedResource {
  readonly apiVersion: string;
  readonly kind: string;
  readonly plural: string;
}

/** The whole of what we want of an object; what others set beside it stays theirs. */
export interface AppliedManifest {
  readonly metadata: {
    readonly namespace: string;
    readonly name: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly ownerReferences?: readonly OwnerReference[];
  };
  readonly [section: string]: unknown;
}

/**
 * Makes an object as the manifest says, by server-side apply: fields that the manifest no longer has are removed if they were
 * ours, and an equal manifest leaves the resourceVersion as it is.
 * @param force takes fields that another manager set; without it that is a `Conflict`
 * @throws ObjectStoreError
 */
export async function applyObject(
  client: KubeClient,
  resource: AppliedResource,
  manifest: AppliedManifest,
  options: { readonly force?: boolean } = {},
): Promise<StoredObject> {
  const { apiVersion, kind, plural } = resource;
  const { namespace, name } = manifest.metadata;
  const answer = await client.request({
    method: "PATCH",
    path: `${resourcePath(apiVersion, plural, namespace)}/${encodeURIComponent(name)}`,
    query: { fieldManager: FIELD_MANAGER, force: options.force ?? true },
    contentType: "application/apply-patch+yaml",
    body: { apiVersion, kind, ...manifest },
  });
  return readStoredObject(answer, resource);
}

/** What makes the API server remove an object together with its owner. */
export function ownedBy(owner: StoredObject): OwnerReference {
  const { name, uid } = owner.metadata;
  return { apiVersion: owner.apiVersion, kind: owner.kind, name, uid, controller: true, blockOwnerDeletion: true };
}
