import { z } from "zod";
import type { Fault } from "../base/errors.ts";
import { explainIssues } from "./faults.ts";
import { GROUP_VERSION, type Kind, kindNames } from "./group.ts";
import { manifestMetadataSchema } from "./metadata.ts";
import { type Credential, type ResourceDefinition, type Run, resources, type Toolset } from "./resources.ts";
import { withRules } from "./rules.ts";
import { ANSWERS_BYTES_MAX, type RunSpec } from "./run-spec.ts";

export type ManifestResult =
  | { readonly ok: true; readonly object: Toolset | Run | Credential }
  | { readonly ok: false; readonly faults: readonly Fault[] };

/**
 * Checks one document of a manifest file as the API server would check it on creation: by the same schemas and rules,
 * unknown fields refused. All faults are listed at once. `status` is taken as no part of a manifest and is dropped.
 * The object is the value that was given, not a copy: nothing is filled in.
 * @param value a parsed YAML or JSON document, integers exact or not
 */
export function parseManifest(value: unknown): ManifestResult {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return {
      ok: false,
      faults: [{ path: "", message: "a manifest is an object with apiVersion, kind, metadata and spec" }],
    };
  }
  const { status: _, ...manifest } = value as Record<string, unknown>;
  const { apiVersion, kind } = manifest;
  if (typeof kind !== "string" || !isKind(kind)) {
    const known = Object.keys(kindNames).join(", ");
    return { ok: false, faults: [{ path: "kind", message: `"${String(kind)}" is no kind of Holdpoint's: ${known}` }] };
  }
  const schema = manifestSchemas[kind];
  const parsed = schema.safeParse(manifest);
  const faults = parsed.success ? [] : explainIssues(parsed.error.issues, schema, manifest);
  if (apiVersion !== GROUP_VERSION) faults.unshift({ path: "apiVersion", message: `write ${GROUP_VERSION}` });
  if (kind === "Run") faults.push(...decisionFaults(manifest["spec"]));
  return faults.length === 0 ? { ok: true, object: manifest as unknown as Toolset } : { ok: false, faults };
}

function isKind(name: string): name is Kind {
  return Object.hasOwn(kindNames, name);
}

const manifestSchemas: Readonly<Record<Kind, z.ZodType>> = {
  Toolset: manifestSchema(resources.Toolset),
  Run: manifestSchema(resources.Run),
  Credential: manifestSchema(resources.Credential),
};

function manifestSchema({ spec, rootRules }: ResourceDefinition) {
  // apiVersion and kind are judged before, with better words.
  const object = z.strictObject({ apiVersion: z.unknown(), kind: z.unknown(), metadata: manifestMetadataSchema, spec });
  return withRules(object, rootRules);
}

/** What the admission policy asks of a decision by itself: CRD rules cannot see `answers`. */
function decisionFaults(spec: unknown): Fault[] {
  const decisions = (spec as Partial<RunSpec> | undefined)?.decisions;
  if (typeof decisions !== "object" || decisions === null) return [];
  return Object.entries(decisions).flatMap(([id, decision]) => {
    const path = `spec.decisions.${id}.answers`;
    if (decision?.action === "Answer" && decision.answers === undefined) {
      return [{ path, message: "action: Answer needs answers" }];
    }
    if (decision?.answers === undefined) return [];
    if (decision.action !== "Answer") return [{ path, message: "answers go with action: Answer only" }];
    return jsonBytes(decision.answers) > ANSWERS_BYTES_MAX ? [{ path, message: "answers are longer than 4 KiB" }] : [];
  });
}

function jsonBytes(value: unknown): number {
  const text = JSON.stringify(value, (_key, member) => (typeof member === "bigint" ? String(member) : member));
  return Buffer.byteLength(text);
}
