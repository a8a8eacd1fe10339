/** The API group of every Holdpoint resource. */
export const API_GROUP = "holdpoint.dev";
/** The only version that is served and stored. */
export const API_VERSION = "v1alpha1";
/** What manifests write as `apiVersion`. */
export const GROUP_VERSION = `${API_GROUP}/${API_VERSION}` as const;
/** The category of all kinds: `kubectl get holdpoint` lists everything. */
export const API_CATEGORY = "holdpoint";

/** How the API server and kubectl name a kind. */
export interface KindNames {
  readonly plural: string;
  readonly singular: string;
  readonly shortNames: readonly string[];
}

/** The names of each kind. All kinds are namespaced. */
export const kindNames = {
  Toolset: { plural: "toolsets", singular: "toolset", shortNames: ["ts"] },
  Run: { plural: "runs", singular: "run", shortNames: ["hprun"] },
  Credential: { plural: "credentials", singular: "credential", shortNames: ["hpcred"] },
} as const satisfies Record<string, KindNames>;

export type Kind = keyof typeof kindNames;

/** RBAC verbs of our own, besides those of Kubernetes. */
export const verbs = {
  /** On runs: may write `spec.decisions`. */
  approve: "approve",
  /** On toolsets: may serve its host tools. */
  serve: "serve",
} as const;

/** Annotations that Holdpoint reads or writes. */
export const annotations = {
  /** On a Run: who created it, written by admission, never changed. Only the controller's account may set it itself. */
  requester: "holdpoint.dev/requester",
  /** On a Toolset: any new value lists the servers again and makes a new pin. */
  repin: "holdpoint.dev/repin",
} as const;

/** Labels of the objects that Holdpoint creates. */
export const labels = {
  /** On a dispatcher's Deployment and pods, a declarations ConfigMap, a child Run: the Toolset's name. */
  toolset: "holdpoint.dev/toolset",
  /** On a declarations ConfigMap: the pin's digest, its first 12 hexadecimal digits. */
  digest: "holdpoint.dev/digest",
  /** On a child Run: the name of the Run that started it. */
  parent: "holdpoint.dev/parent",
  /** Kubernetes' own: which program manages the object. */
  managedBy: "app.kubernetes.io/managed-by",
} as const;

/** The value of `labels.managedBy`. */
export const MANAGED_BY = "holdpoint";

/** Finalizers that Holdpoint sets. */
export const finalizers = {
  /** On a Toolset, only while it has unfinished runs (semantics 14.5). */
  unfinishedRuns: "holdpoint.dev/unfinished-runs",
} as const;
