import { describe, expect, test } from "vitest";
import { z } from "zod";
import type { Kind } from "./group.ts";
import { type Credential, type Run, resources, type Toolset } from "./resources.ts";
import { unsupportedFields, unsupportedPaths } from "./supported.ts";

const object = (kind: Kind, spec: unknown) =>
  ({ apiVersion: "holdpoint.dev/v1alpha1", kind, metadata: { name: "x" }, spec }) as Toolset | Run | Credential;

describe("unsupportedFields", () => {
  test("is empty for what this version brings to life", () => {
    const toolset = {
      servers: [
        { name: "a", url: "https://a", protocol: "Auto", auth: "None", headers: { x: "y" }, tools: { include: ["*"] } },
      ],
      policies: [
        { tools: ["a.b"], approval: "Required", approvers: { users: ["ann"] }, timeout: "1m", onInterruption: "Retry" },
        { tools: ["*"], onInterruption: "AtMostOnce", validateArguments: false, onDrift: "Compatible" },
      ],
      limits: { concurrency: 1, resultBytes: 1_024, sandbox: { memory: "64Mi", cpu: "5s", calls: 10 } },
      suspend: true,
      reservedNames: ["bash"],
      pinning: "Manual",
      hostTools: [],
      dispatcher: { maxReplicas: 1, runsPerReplica: 1, idleAfter: "1m" },
    };
    expect(unsupportedFields(object("Toolset", toolset))).toEqual([]);
    const run = { toolset: { name: "x", digest: "sha256:1" }, script: "1", input: null, cancel: true, decisions: {} };
    expect(unsupportedFields(object("Run", run))).toEqual([]);
  });

  test("names each field that does nothing yet, with its index", () => {
    const toolset = {
      servers: [{ auth: "None" }, { auth: "Credential" }],
      policies: [{ onInterruption: "Park" }, { onDrift: "Strict", parkTimeout: "1h" }],
      http: { allowedHosts: ["example.com"] },
      dispatcher: { serviceAccountName: "a" },
    };
    expect(unsupportedFields(object("Toolset", toolset))).toEqual([
      "spec.servers[1].auth",
      "spec.http",
      "spec.policies[1].parkTimeout",
      "spec.policies[1].onDrift",
      "spec.dispatcher.serviceAccountName",
    ]);
  });

  test("a Run without a script is a session, which is not there yet", () => {
    expect(unsupportedFields(object("Run", { toolset: {} }))).toEqual(["spec.script (a Run without one is a session)"]);
    expect(unsupportedFields(object("Run", { toolset: {}, scriptFrom: {} }))).toEqual(["spec.scriptFrom"]);
  });

  test("a Credential does nothing yet", () => {
    expect(unsupportedFields(object("Credential", { toolset: "x" }))).toEqual(["spec"]);
  });
});

test("every path of the table leads to a field of its kind", () => {
  for (const kind of ["Toolset", "Run", "Credential"] as const) {
    const spec = z.toJSONSchema(resources[kind].spec, { io: "input" });
    for (const path of unsupportedPaths(kind)) expect(fieldAt(spec, path), path).toBeDefined();
  }
});

function fieldAt(spec: unknown, path: string): unknown {
  const [, ...parts] = path.split(".");
  return parts.reduce<unknown>((schema, part) => {
    const member = (schema as { properties?: Record<string, { items?: unknown }> }).properties?.[
      part.replace("[]", "")
    ];
    return part.endsWith("[]") ? member?.items : member;
  }, spec);
}
