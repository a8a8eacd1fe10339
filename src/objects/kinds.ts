import { GROUP_VERSION, kindNames } from "../api/group.ts";
import type { ObjectKey, ObjectKind } from "./store.ts";

/** What is fixed about a kind: where the API server has it, and how it counts changes of its spec. */
export interface KindFacts {
  readonly apiVersion: string;
  /** The resource's name in the API's paths. */
  readonly plural: string;
  /** False: the objects stand in no namespace, and their key's namespace is empty. */
  readonly namespaced: boolean;
  /** Whether `metadata.generation` counts the changes of spec; it stays 0 for the other kinds. */
  readonly counted: boolean;
}

const HOLDPOINT = { apiVersion: GROUP_VERSION, namespaced: true, counted: true } as const;

/** Every kind the object stores hold. */
export const kindFacts: Readonly<Record<ObjectKind, KindFacts>> = {
  Toolset: { ...HOLDPOINT, plural: kindNames.Toolset.plural },
  Run: { ...HOLDPOINT, plural: kindNames.Run.plural },
  Credential: { ...HOLDPOINT, plural: kindNames.Credential.plural },
  ConfigMap: { apiVersion: "v1", plural: "configmaps", namespaced: true, counted: false },
  Secret: { apiVersion: "v1", plural: "secrets", namespaced: true, counted: false },
  Namespace: { apiVersion: "v1", plural: "namespaces", namespaced: false, counted: false },
};

/** The kinds, in the table's order. */
export const objectKinds = Object.keys(kindFacts) as readonly ObjectKind[];

/** The key as one text, `namespace/name`: equal keys give equal texts, and no other key does. */
export function keyText(key: ObjectKey): string {
  return `${key.namespace}/${key.name}`;
}
