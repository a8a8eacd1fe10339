import type { ParkedCall } from "../api/run-status.ts";
import { wholeArguments, wholeCallName } from "../api/whole-call.ts";
import type { KubeApi } from "./kube-api.ts";
import type { ServedRun } from "./resources.ts";

/**
 * The whole arguments of a call whose preview was cut, out of the ConfigMap that the controller publishes. It is believed only
 * where it is what the call's digest is over: nobody can be shown anything else (case c07).
 * @returns undefined when the preview is whole, or the ConfigMap cannot be read or is not the call's
 */
export async function readWhole(api: KubeApi, run: ServedRun, call: ParkedCall): Promise<string | undefined> {
  const runId = run.status?.runId;
  if (!call.previewCut || runId === undefined) return undefined;
  const { namespace } = run.metadata;
  const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/configmaps/${wholeCallName(runId, call.id)}`;
  const answer = await api.request({ method: "GET", path }).catch(() => undefined);
  const text = (answer as { data?: Record<string, string> } | undefined)?.data?.["call.json"];
  return text === undefined ? undefined : wholeArguments(text, call.callDigest);
}
