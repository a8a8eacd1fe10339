import type { z } from "zod";
import {
  type CredentialSpec,
  type CredentialStatus,
  credentialSpecSchema,
  credentialStatusSchema,
} from "./credential-fields.ts";
import type { GROUP_VERSION, Kind } from "./group.ts";
import { type ManifestMetadata, type RootView, toolsetNameRules } from "./metadata.ts";
import type { Rule } from "./rules.ts";
import { type RunSpec, runSpecSchema } from "./run-spec.ts";
import { type RunStatus, runStatusSchema } from "./run-status.ts";
import { type ToolsetSpec, toolsetSpecSchema } from "./toolset-spec.ts";
import { type ToolsetStatus, toolsetStatusSchema } from "./toolset-status.ts";

/** An object of one of Holdpoint's kinds, in a manifest or stored. */
export interface Resource<Name extends Kind, Spec, Status> {
  readonly apiVersion: typeof GROUP_VERSION;
  readonly kind: Name;
  readonly metadata: ManifestMetadata;
  readonly spec: Spec;
  readonly status?: Status;
}

/** What scripts may call. */
export type Toolset = Resource<"Toolset", ToolsetSpec, ToolsetStatus>;
/** One script, once. */
export type Run = Resource<"Run", RunSpec, RunStatus>;
/** How a toolset signs in. */
export type Credential = Resource<"Credential", CredentialSpec, CredentialStatus>;

/** A column of `kubectl get`; shown only with `-o wide` when `wide`. */
export interface PrinterColumn {
  readonly name: string;
  readonly type: "string" | "integer" | "date";
  readonly jsonPath: string;
  readonly description: string;
  readonly wide?: true;
}

/** All that a CRD and `parseManifest` need to know of a kind. */
export interface ResourceDefinition {
  readonly description: string;
  readonly spec: z.ZodType;
  readonly status: z.ZodType;
  readonly columns: readonly PrinterColumn[];
  /** Rules that see the name. */
  readonly rootRules: readonly Rule<RootView>[];
}

const age: PrinterColumn = {
  name: "AGE",
  type: "date",
  jsonPath: ".metadata.creationTimestamp",
  description: "How long ago it was created.",
};

function condition(name: string, type: string, description: string): PrinterColumn {
  return { name, type: "string", jsonPath: `.status.conditions[?(@.type=="${type}")].status`, description };
}

/** Every kind, with its schemas and columns. */
export const resources: Readonly<Record<Kind, ResourceDefinition>> = {
  Toolset: {
    description: "What scripts may call: servers whose tools are pinned, and a policy for each tool.",
    spec: toolsetSpecSchema,
    status: toolsetStatusSchema,
    rootRules: [
      ...toolsetNameRules,
      {
        cel: "!has(self.spec.base) || self.spec.base.name != self.metadata.name",
        message: "a Toolset cannot be its own base",
        check: (self) => (self as { spec?: ToolsetSpec }).spec?.base?.name !== (self.metadata.name ?? ""),
      },
    ],
    columns: [
      condition("READY", "Ready", "Whether runs are taken."),
      { name: "TOOLS", type: "integer", jsonPath: ".status.toolCount", description: "How many tools are pinned." },
      { name: "DIGEST", type: "string", jsonPath: ".status.shortDigest", description: "The pin's digest." },
      condition("DRIFTED", "Drifted", "Whether servers differ from the pin."),
      { name: "RUNS", type: "integer", jsonPath: ".status.runs", description: "How many runs are unfinished." },
      age,
    ],
  },
  Run: {
    description: "One script, run once, with the tools of a Toolset.",
    spec: runSpecSchema,
    status: runStatusSchema,
    rootRules: [],
    columns: [
      { name: "STATUS", type: "string", jsonPath: ".status.phase", description: "Where the run is." },
      {
        name: "PARKED",
        type: "integer",
        jsonPath: ".status.calls.parked",
        description: "How many calls wait for somebody.",
      },
      {
        name: "TOOL",
        type: "string",
        jsonPath: ".status.parked[0].tool",
        description: "The tool of the call that waits longest.",
      },
      { name: "CALLS", type: "integer", jsonPath: ".status.calls.total", description: "How many calls were recorded." },
      age,
      { name: "TOOLSET", type: "string", jsonPath: ".spec.toolset.name", description: "The Toolset.", wide: true },
      {
        name: "REASON",
        type: "string",
        jsonPath: ".status.reason",
        description: "Why the status is what it is.",
        wide: true,
      },
      {
        name: "REQUESTER",
        type: "string",
        jsonPath: ".status.requester",
        description: "Who created the Run.",
        wide: true,
      },
    ],
  },
  Credential: {
    description: "How calls of a Toolset sign in to a server or host.",
    spec: credentialSpecSchema,
    status: credentialStatusSchema,
    rootRules: [],
    columns: [
      condition("READY", "Ready", "Whether it can be used."),
      { name: "TYPE", type: "string", jsonPath: ".spec.type", description: "How it signs in." },
      { name: "SERVER", type: "string", jsonPath: ".spec.server", description: "The server it is for." },
      { name: "ENDUSER", type: "string", jsonPath: ".spec.endUser", description: "On whose behalf it is used." },
      { name: "EXPIRES", type: "string", jsonPath: ".status.expiresAt", description: "When it expires." },
      age,
    ],
  },
};
