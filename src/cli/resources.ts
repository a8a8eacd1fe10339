import type { Run, Toolset } from "../api/resources.ts";
import type { Json, JsonObject } from "../base/exact-json.ts";
import { type KubeApi, KubeApiError } from "./kube-api.ts";

/** What the API server adds to metadata and the plugins read. */
export interface ServedMetadata {
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly managedFields?: readonly { readonly time?: string; readonly fieldsV1?: JsonObject }[];
}

export type ServedRun = Omit<Run, "metadata"> & { readonly metadata: ServedMetadata };
export type ServedToolset = Omit<Toolset, "metadata"> & { readonly metadata: ServedMetadata };

/** Objects of one page of a list: more are asked for with the token. */
const PAGE_OBJECTS = 500;
const PAGES_MAX = 200;

function path(plural: string, namespace: string | undefined, name?: string): string {
  const scope = namespace === undefined ? "" : `/namespaces/${encodeURIComponent(namespace)}`;
  return `/apis/holdpoint.dev/v1alpha1${scope}/${plural}${name === undefined ? "" : `/${encodeURIComponent(name)}`}`;
}

/** @throws KubeApiError also when there is no such Run */
export async function readRun(api: KubeApi, namespace: string, name: string): Promise<ServedRun> {
  return served(await api.request({ method: "GET", path: path("runs", namespace, name) }));
}

/** @throws KubeApiError also when there is no such Toolset */
export async function readToolset(api: KubeApi, namespace: string, name: string): Promise<ServedToolset> {
  return served(await api.request({ method: "GET", path: path("toolsets", namespace, name) }));
}

/**
 * All Runs of a namespace, or of all of them; never cut.
 * @param labelSelector as kubectl's `-l`
 */
export async function listRuns(api: KubeApi, namespace?: string, labelSelector?: string): Promise<ServedRun[]> {
  const found: ServedRun[] = [];
  let token: string | undefined;
  for (let page = 0; page < PAGES_MAX; page += 1) {
    const query = new URLSearchParams({ limit: String(PAGE_OBJECTS) });
    if (labelSelector !== undefined) query.set("labelSelector", labelSelector);
    if (token !== undefined) query.set("continue", token);
    const answer = served<RunList>(await api.request({ method: "GET", path: `${path("runs", namespace)}?${query}` }));
    found.push(...answer.items);
    token = answer.metadata?.continue;
    if (!token) return found;
  }
  throw new KubeApiError(0, `there are more than ${PAGES_MAX * PAGE_OBJECTS} Runs: name a namespace`);
}

interface RunList {
  readonly items: readonly ServedRun[];
  readonly metadata?: { readonly continue?: string };
}

/** Applies a JSON merge patch to a Run. `fieldManager` is what its managed fields then carry. */
export async function patchRun(api: KubeApi, run: ServedRun, patch: JsonObject, fieldManager: string) {
  return served<ServedRun>(await api.request(mergePatch("runs", run.metadata, patch, fieldManager)));
}

/** Applies a JSON merge patch to a Toolset. */
export async function patchToolset(api: KubeApi, toolset: ServedToolset, patch: JsonObject, fieldManager: string) {
  return served<ServedToolset>(await api.request(mergePatch("toolsets", toolset.metadata, patch, fieldManager)));
}

function mergePatch(plural: string, { namespace, name }: ServedMetadata, body: JsonObject, fieldManager: string) {
  return {
    method: "PATCH",
    path: `${path(plural, namespace, name)}?fieldManager=${encodeURIComponent(fieldManager)}`,
    body,
    contentType: "application/merge-patch+json",
  } as const;
}

/** The `data` of a ConfigMap. */
export async function readConfigMap(api: KubeApi, namespace: string, name: string): Promise<Record<string, string>> {
  const route = `/api/v1/namespaces/${encodeURIComponent(namespace)}/configmaps/${encodeURIComponent(name)}`;
  return served<{ data?: Record<string, string> }>(await api.request({ method: "GET", path: route })).data ?? {};
}

/** Who the API server takes this caller for: what `by` must say. */
export async function whoAmI(api: KubeApi): Promise<string> {
  const review = served<{ status?: { userInfo?: { username?: Json } } }>(
    await api.request({
      method: "POST",
      path: "/apis/authentication.k8s.io/v1/selfsubjectreviews",
      body: { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" },
    }),
  );
  const name = review.status?.userInfo?.username;
  if (typeof name !== "string") throw new KubeApiError(0, "the API server does not say who you are");
  return name;
}

/** The API server has checked the object against the CRD's schema, which is generated from these types. */
function served<T>(answer: JsonObject): T {
  return answer as unknown as T;
}
