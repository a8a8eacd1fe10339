import { finalizers } from "../../api/group.ts";
import { forgetToolset } from "../../journal/toolsets.ts";
import type { ToolsetContext } from "./toolset-context.ts";

const NAMES_SHOWN_MAX = 10;
/** How often a Toolset that waits for its runs is looked at, also without being told. */
const WAIT_MS = 10_000;

/**
 * Keeps the finalizer exactly while there are unfinished runs, so that a Toolset with runs waits for them. States
 * `DeletionBlocked` while it does.
 */
export async function deletionStep({ pass, tools, unfinished }: ToolsetContext): Promise<void> {
  const { object } = pass;
  const { finalizers: present = [], deletionTimestamp, namespace, name } = object.metadata;
  const has = present.includes(finalizers.unfinishedRuns);
  const isDeleted = deletionTimestamp !== undefined;
  if (unfinished.length > 0 && !has && !isDeleted) {
    await tools.store.patchMetadata("Toolset", object, { finalizers: [...present, finalizers.unfinishedRuns] });
    pass.stopped = true;
    return;
  }
  if (unfinished.length === 0 && has) {
    if (isDeleted) await forgetToolset(tools.sql, namespace, name);
    await tools.store.patchMetadata("Toolset", object, {
      finalizers: present.filter((entry) => entry !== finalizers.unfinishedRuns),
    });
    pass.stopped = true;
    return;
  }
  if (!isDeleted) return;
  const names = unfinished.slice(0, NAMES_SHOWN_MAX).join(", ");
  const rest = unfinished.length > NAMES_SHOWN_MAX ? ` and ${unfinished.length - NAMES_SHOWN_MAX} more` : "";
  pass.condition(
    "DeletionBlocked",
    "True",
    "UnfinishedRuns",
    `waits for run ${names}${rest}; cancel or delete what is not needed`,
  );
  pass.comeAgain(WAIT_MS);
}
