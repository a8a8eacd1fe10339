import { GROUP_VERSION, labels, MANAGED_BY } from "../../api/group.ts";
import { wholeCallName, wholeCallText } from "../../api/whole-call.ts";
import { parseExact } from "../../base/exact-json.ts";
import type { HoldShown } from "../../journal/documents.ts";
import { readArguments } from "../../journal/log-tail.ts";
import { readPin } from "../../journal/pins.ts";
import type { HoldView } from "../../journal/runs.ts";
import { ObjectStoreError } from "../../objects/store.ts";
import type { PinContent } from "../../toolset/pin.ts";
import type { RunContext } from "./run-context.ts";
import { openHolds } from "./run-status.ts";

/** A ConfigMap holds 1 MiB in all. */
const TEXT_BYTES_MAX = 1_000_000;
const SHARED_MAX = 50;

/**
 * Publishes the whole of parked calls whose preview was cut, so that whoever decides can read it with nothing but a
 * kubeconfig: an immutable ConfigMap that goes with the Run. Its text is what `callDigest` is over, so that nobody can be
 * shown anything else [case c07].
 */
export async function shareArgumentsStep(context: RunContext): Promise<void> {
  const { view, alreadyRan } = context;
  if (!view || alreadyRan) return;
  for (const hold of openHolds(view).slice(0, SHARED_MAX)) {
    const { previewCut, argumentsBytes } = JSON.parse(hold.shownText) as HoldShown;
    if (previewCut && argumentsBytes <= TEXT_BYTES_MAX) await share(context, hold);
  }
}

async function share({ view, tools, pass }: RunContext, hold: HoldView): Promise<void> {
  if (!view) return;
  const { namespace, name, uid } = pass.object.metadata;
  const configMap = wholeCallName(view.runId, hold.holdId);
  if (await tools.store.read("ConfigMap", { namespace, name: configMap })) return;
  const argumentsText = await readArguments(tools.sql, view.toolsetId, view.runId, hold.seq);
  const pin = await readPin(tools.sql, view.toolsetId, view.pinDigest);
  const server = pin && serverUrl(pin.contentText, hold.tool);
  if (argumentsText === undefined || server === undefined) return;
  const owner = { apiVersion: GROUP_VERSION, kind: "Run", name, uid, controller: true, blockOwnerDeletion: false };
  const metadata = { namespace, name: configMap, labels: { [labels.managedBy]: MANAGED_BY }, ownerReferences: [owner] };
  const text = wholeCallText(hold.tool, server, parseExact(argumentsText));
  try {
    await tools.store.create("ConfigMap", { metadata, data: { "call.json": text }, immutable: true });
  } catch (error) {
    if (!(error instanceof ObjectStoreError && error.reason === "Exists")) throw error;
  }
}

function serverUrl(contentText: string, tool: string): string | undefined {
  const { servers } = parseExact(contentText) as unknown as PinContent;
  return servers.find((server) => tool.startsWith(`${server.name}.`))?.url;
}
