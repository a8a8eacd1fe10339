import { annotations } from "../../api/group.ts";
import type { ToolsetSpec } from "../../api/toolset-spec.ts";
import { digestJson } from "../../base/digest.ts";
import { type Json, stringifyExact } from "../../base/exact-json.ts";
import { listUnfinishedRuns } from "../../journal/runs.ts";
import { toolsetChannel } from "../../journal/sql.ts";
import { findToolset, observeToolset } from "../../journal/toolsets.ts";
import type { StoredObject } from "../../objects/store.ts";
import type { ToolsetContext } from "./toolset-context.ts";

/** What decides about no call and no tool: a change of it makes no new pin. */
const NOT_PINNED = new Set(["suspend", "dispatcher", "pinning", "notifications"]);

/** Writes the Toolset into the journal, which wishes a new pin where the spec calls for one. */
export async function observeStep(context: ToolsetContext): Promise<void> {
  const { pass, spec, tools } = context;
  const { namespace, name, uid, generation } = pass.object.metadata;
  const before = await findToolset(tools.sql, namespace, name);
  const state = await observeToolset(tools.sql, {
    namespace,
    name,
    uid,
    generation,
    specText: stringifyExact(spec),
    suspended: spec.suspend ?? false,
    pinReason: pinReason(pass.object, spec),
  });
  const isNews = before?.pinWanted !== state.pinWanted || before.suspended !== state.suspended;
  if (isNews) tools.sql.notify(toolsetChannel(state.toolsetId));
  context.state = state;
  context.unfinished = (await listUnfinishedRuns(tools.sql, state.toolsetId)).map((run) => run.name);
}

/** Changes exactly when a new pin is to be made: with what is pinned, or with another value of the repin annotation. */
function pinReason(object: StoredObject, spec: ToolsetSpec): string {
  const pinned = Object.fromEntries(Object.entries(spec).filter(([field]) => !NOT_PINNED.has(field)));
  return digestJson({
    spec: pinned as Json,
    uid: object.metadata.uid,
    repin: object.metadata.annotations?.[annotations.repin] ?? "",
  });
}
