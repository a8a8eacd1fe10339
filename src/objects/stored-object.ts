import { z } from "zod";
import type { StoredObject } from "./store.ts";

const ownerReference = z.looseObject({ apiVersion: z.string(), kind: z.string(), name: z.string(), uid: z.string() });
const shape = z.looseObject({
  apiVersion: z.string().optional(),
  kind: z.string().optional(),
  metadata: z.looseObject({
    namespace: z.string().optional(),
    name: z.string().min(1),
    uid: z.string().min(1),
    resourceVersion: z.string().min(1),
    generation: z.number().int().optional(),
    creationTimestamp: z.string(),
    deletionTimestamp: z.string().optional(),
    labels: z.record(z.string(), z.string()).optional(),
    annotations: z.record(z.string(), z.string()).optional(),
    finalizers: z.array(z.string()).optional(),
    generateName: z.string().optional(),
    ownerReferences: z.array(ownerReference).optional(),
  }),
  data: z.record(z.string(), z.string()).optional(),
  immutable: z.boolean().optional(),
});

/** What stands in no annotation that is kept: whole manifests, repeated by the client that applied them. */
const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration";

/**
 * The object in a JSON value from outside (an API server's answer, a file), with what nobody reads left out: managed fields and
 * the copy of the manifest that `kubectl apply` leaves behind, together often more than the object itself.
 * @param defaults stand for `apiVersion` and `kind` where the value has none, as in the items of a list
 * @throws RangeError naming every path that is wrong
 */
export function readStoredObject(value: unknown, defaults: { apiVersion: string; kind: string }): StoredObject {
  const parsed = shape.safeParse(value);
  if (!parsed.success) throw new RangeError(`not an object of the API: ${faultText(parsed.error)}`);
  // What was parsed is only looked at: the values below come from the original, whose keys and integers are untouched.
  const object = value as Partial<StoredObject> & Pick<StoredObject, "metadata">;
  const { managedFields: _managedFields, selfLink: _selfLink, ...metadata } = object.metadata as RawMetadata;
  return {
    apiVersion: object.apiVersion ?? defaults.apiVersion,
    kind: object.kind ?? defaults.kind,
    metadata: {
      ...metadata,
      namespace: metadata.namespace ?? "",
      generation: metadata.generation ?? 0,
      ...(metadata.annotations === undefined ? {} : { annotations: withoutLastApplied(metadata.annotations) }),
    },
    ...(object.spec === undefined ? {} : { spec: object.spec }),
    ...(object.status === undefined ? {} : { status: object.status }),
    ...(object.data === undefined ? {} : { data: object.data }),
    ...(object.immutable === undefined ? {} : { immutable: object.immutable }),
  };
}

type RawMetadata = StoredObject["metadata"] & { readonly managedFields?: unknown; readonly selfLink?: unknown };

function withoutLastApplied(annotations: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const { [LAST_APPLIED]: _manifest, ...rest } = annotations;
  return rest;
}

function faultText(error: z.ZodError): string {
  return error.issues.map((issue) => `${issue.path.join(".")}: ${issue.message}`).join("; ");
}
