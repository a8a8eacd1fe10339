import { z } from "zod";
import { LABEL_NAME_PATTERN, OBJECT_NAME_PATTERN, optional } from "./fields.ts";
import { matching, type Rule, withRules } from "./rules.ts";

const texts = z.record(z.string(), z.string().max(256 * 1024));
const objectName = withRules(z.string().min(1).max(253), [
  matching(
    OBJECT_NAME_PATTERN,
    "write lower-case letters, digits, - and ., beginning and ending with a letter or digit",
  ),
]);

/** `metadata` of a manifest: what a person writes, and what `kubectl get -o yaml` adds. The API server checks its own. */
export const manifestMetadataSchema = z
  .strictObject({
    name: optional(objectName),
    generateName: optional(z.string().min(1).max(248)),
    namespace: optional(withRules(z.string().max(63), [matching(LABEL_NAME_PATTERN, "write a namespace's name")])),
    labels: optional(texts),
    annotations: optional(texts),
    finalizers: optional(z.array(z.string())),
    ownerReferences: optional(z.array(z.unknown())),
    managedFields: optional(z.array(z.unknown())),
    uid: optional(z.string()),
    resourceVersion: optional(z.string()),
    generation: optional(z.int()),
    creationTimestamp: optional(z.string().nullable()),
    deletionTimestamp: optional(z.string()),
    deletionGracePeriodSeconds: optional(z.int()),
    selfLink: optional(z.string()),
  })
  .refine(({ name, generateName }) => name !== undefined || generateName !== undefined, {
    error: "name or generateName is required",
  });

export type ManifestMetadata = z.output<typeof manifestMetadataSchema>;

/** A resource as far as rules on its root can see it. */
export interface RootView {
  readonly metadata: { readonly name?: string };
}

/** Names that are used in label values and in the names of other objects. */
export const toolsetNameRules: readonly Rule<RootView>[] = [
  {
    cel: `self.metadata.name.matches('${LABEL_NAME_PATTERN}') && self.metadata.name.size() <= 63`,
    message: "a Toolset's name has at most 63 lower-case letters, digits and -, and no dots",
    check: ({ metadata: { name = "a" } }) => new RegExp(LABEL_NAME_PATTERN).test(name) && name.length <= 63,
  },
];
