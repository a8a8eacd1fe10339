import { GROUP_VERSION, labels, MANAGED_BY } from "../../api/group.ts";
import { parseExact } from "../../base/exact-json.ts";
import { renderDeclarations } from "../../declarations/render.ts";
import type { PinNotes } from "../../journal/documents.ts";
import { readPin } from "../../journal/pins.ts";
import { ObjectStoreError } from "../../objects/store.ts";
import type { Pin, PinContent } from "../../toolset/pin.ts";
import type { ToolsetContext } from "./toolset-context.ts";

/** Earlier pins' declarations that are kept beside the current one's: running scripts were written against them. */
const KEPT_MAX = 5;

/** Reads the current pin, and publishes its declarations in an immutable ConfigMap, which status names. */
export async function declareStep(context: ToolsetContext): Promise<void> {
  const { state, tools, pass } = context;
  if (state?.pinDigest === undefined) return;
  const stored = await readPin(tools.sql, state.toolsetId, state.pinDigest);
  if (!stored) return;
  const notes = JSON.parse(stored.notesText) as PinNotes;
  context.pin = {
    digest: stored.digest,
    content: parseExact(stored.contentText) as unknown as PinContent,
    ...notes,
  } as Pin;
  const configMap = `${pass.object.metadata.name}-${stored.digest.slice(7, 17)}`;
  pass.status = { ...pass.status, declarations: { configMap } };
  const before = (pass.object.status as { declarations?: { configMap?: string } } | undefined)?.declarations?.configMap;
  if (before === configMap) return;
  await publish(context, context.pin, configMap);
  await removeOld(context, configMap);
}

async function publish({ tools, pass }: ToolsetContext, pin: Pin, name: string): Promise<void> {
  const { namespace, name: toolset, uid } = pass.object.metadata;
  const { declarationText, promptText } = renderDeclarations(pin);
  const owner = {
    apiVersion: GROUP_VERSION,
    kind: "Toolset",
    name: toolset,
    uid,
    controller: true,
    blockOwnerDeletion: false,
  };
  const metadata = {
    namespace,
    name,
    labels: { [labels.managedBy]: MANAGED_BY, [labels.toolset]: toolset, [labels.digest]: pin.digest.slice(7, 19) },
    ownerReferences: [owner],
  };
  try {
    await tools.store.create("ConfigMap", {
      metadata,
      data: { "rewind-tools.d.ts": declarationText, "prompt.txt": promptText },
      immutable: true,
    });
  } catch (error) {
    // The same pin was current before, or an earlier pass was cut off behind this point.
    if (!(error instanceof ObjectStoreError && error.reason === "Exists")) throw error;
  }
}

async function removeOld({ tools, pass }: ToolsetContext, current: string): Promise<void> {
  const { namespace, uid } = pass.object.metadata;
  const own = (await tools.store.list("ConfigMap", namespace))
    .filter(({ metadata }) => metadata.ownerReferences?.some((owner) => owner.uid === uid) && metadata.name !== current)
    .sort((left, right) => right.metadata.creationTimestamp.localeCompare(left.metadata.creationTimestamp));
  for (const { metadata } of own.slice(KEPT_MAX)) await tools.store.delete("ConfigMap", metadata, metadata.uid);
}
