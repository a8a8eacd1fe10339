import { annotations } from "../../api/group.ts";
import { MUTABLE_RUN_FIELDS, type RunSpec } from "../../api/run-spec.ts";
import { canonicalJson } from "../../base/canonical-json.ts";
import { digestText } from "../../base/digest.ts";
import { type Json, stringifyExact } from "../../base/exact-json.ts";
import { readPin } from "../../journal/pins.ts";
import { admitRun, adoptRun, type RunAdmission, viewRunOfObject, viewRuns } from "../../journal/runs.ts";
import { toolsetChannel } from "../../journal/sql.ts";
import { findToolset, type ToolsetState } from "../../journal/toolsets.ts";
import type { StoredObject } from "../../objects/store.ts";
import { toolsetReadiness } from "../toolset/readiness.ts";
import type { RunContext } from "./run-context.ts";
import { refuse } from "./supported.ts";

/** A Run that waits for its Toolset looks again this much later, also without being told. */
const WAIT_MS = 30_000;

/**
 * Brings the Run into the journal, once. States `Accepted=Unknown` while its Toolset is missing or not ready, `False` with
 * `PinNotFound` for a pin that does not exist. A finished run of that name and spec is shown instead (`AlreadyRan`).
 */
export async function admitStep(context: RunContext): Promise<void> {
  const { pass, spec, tools } = context;
  const { namespace } = pass.object.metadata;
  context.toolset = await findToolset(tools.sql, namespace, spec.toolset.name);
  if (context.view) return;
  if (spec.cancel) return cancelledBeforeItBegan(context);
  const pinDigest = await pinFor(context, context.toolset);
  if (pinDigest === undefined || !context.toolset) return;
  await admit(context, admissionOf(pass.object, spec, context.toolset.toolsetId, pinDigest));
}

async function admit(context: RunContext, admission: RunAdmission): Promise<void> {
  const { tools, spec, pass } = context;
  if (context.adoptsUnfinished) await adoptRun(tools.sql, admission);
  const outcome = await admitRun(tools.sql, admission);
  if (outcome.kind === "alreadyRan") {
    context.alreadyRan = true;
    context.view = (await viewRuns(tools.sql, [outcome.runId]))[0];
    return;
  }
  context.view = await viewRunOfObject(tools.sql, admission.uid);
  if (outcome.kind !== "admitted") return;
  tools.log.info({ run: outcome.runId, name: admission.name, namespace: admission.namespace }, "run admitted");
  tools.sql.notify(toolsetChannel(outcome.toolsetId));
  context.touchToolset(pass.object.metadata.namespace, spec.toolset.name);
}

function cancelledBeforeItBegan({ pass }: RunContext): void {
  const message = "cancelled before it began";
  pass.status = { phase: "Cancelled", reason: "Cancelled", error: { code: "Cancelled", message } };
  pass.condition("Finished", "True", "Cancelled", message);
  pass.stopped = true;
}

/** The pin that a new run gets, or why it has to wait for one. */
async function pinFor(context: RunContext, toolset: ToolsetState | undefined): Promise<string | undefined> {
  const { pass, spec, tools, toolsets } = context;
  const { namespace } = pass.object.metadata;
  const object = toolsets.get({ namespace, name: spec.toolset.name });
  if (!object)
    return wait(
      pass,
      "ToolsetNotFound",
      `there is no Toolset ${spec.toolset.name} in ${namespace}; the run waits for it`,
    );
  const readiness = toolsetReadiness(object, toolset);
  if (!readiness.ready || !toolset?.pinDigest)
    return wait(
      pass,
      "ToolsetNotReady",
      `the Toolset ${spec.toolset.name} is not ready (${readiness.reason}: ${readiness.message}); the run waits`,
    );
  if (toolset.suspended) return wait(pass, "Suspended", `the Toolset ${spec.toolset.name} is suspended; the run waits`);
  const wanted = spec.toolset.digest ?? toolset.pinDigest;
  if (wanted !== toolset.pinDigest && !(await readPin(tools.sql, toolset.toolsetId, wanted))) {
    refuse(
      pass,
      "PinNotFound",
      `the Toolset ${spec.toolset.name} has no pin ${wanted}; its current one is ${toolset.pinDigest}`,
    );
    return undefined;
  }
  return wanted;
}

function wait(pass: RunContext["pass"], reason: string, message: string): undefined {
  pass.status = { phase: "Pending", reason };
  pass.condition("Accepted", "Unknown", reason, message);
  pass.comeAgain(WAIT_MS);
  pass.stopped = true;
  return undefined;
}

function admissionOf(object: StoredObject, spec: RunSpec, toolsetId: number, pinDigest: string): RunAdmission {
  const { namespace, name, uid, generateName } = object.metadata;
  return {
    toolsetId,
    namespace,
    name,
    uid,
    generatedName: generateName !== undefined && generateName !== "",
    specDigest: runSpecDigest(namespace, name, spec),
    pinDigest,
    requester: object.metadata.annotations?.[annotations.requester] ?? "",
    script: spec.script ?? "",
    ...(spec.input === undefined ? {} : { inputText: stringifyExact(spec.input) }),
  };
}

/** What makes two Runs the same one: namespace, name and spec without what may change (semantics 14.5). */
export function runSpecDigest(namespace: string, name: string, spec: RunSpec): string {
  const fixed = Object.entries(spec).filter(([field]) => !(MUTABLE_RUN_FIELDS as readonly string[]).includes(field));
  return digestText(canonicalJson({ namespace, name, spec: Object.fromEntries(fixed) as Json }));
}
