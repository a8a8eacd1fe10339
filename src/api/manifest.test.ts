import { describe, expect, test } from "vitest";
import { editDistance, pathText } from "./faults.ts";
import { parseManifest } from "./manifest.ts";

const toolset = (spec: unknown, metadata: unknown = { name: "triage" }) => ({
  apiVersion: "holdpoint.dev/v1alpha1",
  kind: "Toolset",
  metadata,
  spec,
});
const run = (spec: Record<string, unknown>) => ({
  apiVersion: "holdpoint.dev/v1alpha1",
  kind: "Run",
  metadata: { generateName: "triage-" },
  spec: { toolset: { name: "triage" }, script: "export default () => 1;", ...spec },
});

function faults(value: unknown): string[] {
  const parsed = parseManifest(value);
  return parsed.ok ? [] : parsed.faults.map(({ path, message }) => `${path}: ${message}`);
}

describe("parseManifest", () => {
  test("lists all faults at once, each with its path", () => {
    const manifest = toolset({
      servers: [
        { name: "http", url: "https://user:planted@example.com/mcp?api_key=planted" },
        { name: "github", ulr: "https://example.com", auth: "ServiceAccountToken" },
      ],
      policies: [{ tools: ["a.b"], aproval: "Required", timeout: "5 minutes" }],
      suspend: "yes",
    });
    expect(faults(manifest)).toEqual([
      "spec.servers[0].name: http, webhook, workflows and rewind are built-ins: take another name",
      "spec.servers[0].url: no user or password in a URL: sign in with a Credential (auth: Credential)",
      "spec.servers[0].url: no token, key or secret in a URL's query: sign in with a Credential (auth: Credential)",
      "spec.servers[1].url: is required",
      "spec.servers[1].ulr: unknown field; did you mean url?",
      "spec.servers[1].audience: auth: ServiceAccountToken needs an audience: name the MCP server the token is for",
      "spec.policies[0].timeout: write a duration such as 90s, 1h30m, 500ms or 40d",
      "spec.policies[0].aproval: unknown field; did you mean approval?",
      "spec.suspend: must be true or false, not a text",
    ]);
  });

  test("never repeats a secret that stands in the manifest [semantics 8.3]", () => {
    const manifest = toolset({
      servers: [{ name: "github", url: "https://u:planted@h?token=planted", headers: { authorization: "planted" } }],
    });
    const told = faults(manifest);
    expect(told).toHaveLength(3);
    expect(told.join()).not.toContain("planted");
  });

  test.each([
    [undefined, "a manifest is an object"],
    [[], "a manifest is an object"],
    [{ kind: "Pod" }, '"Pod" is no kind of Holdpoint\'s: Toolset, Run, Credential'],
    [{ kind: "constructor" }, "is no kind of Holdpoint's"],
    [{ ...toolset({}), apiVersion: "holdpoint.dev/v1" }, "apiVersion: write holdpoint.dev/v1alpha1"],
    [{ ...toolset({}), spce: {} }, "spce: unknown field; did you mean spec?"],
    [toolset(undefined), "spec: is required"],
    [toolset({}, {}), "metadata: name or generateName is required"],
    [toolset({}, { name: "Triage" }), "metadata.name: write lower-case letters"],
    [toolset({}, { name: "a".repeat(64) }), "a Toolset's name has at most 63"],
    [toolset({ servers: null }), "spec.servers: must be a list, not null"],
    [toolset({ servers: [null] }), "spec.servers[0]: must be a map, not null"],
    [
      run({ decisions: { "7": { action: "Answer", by: "ann" } } }),
      "spec.decisions.7.answers: action: Answer needs answers",
    ],
    [run({ decisions: { "7": { action: "Approve", by: "ann", answers: 1 } } }), "answers go with action: Answer only"],
    [
      run({ decisions: { "7": { action: "Answer", by: "ann", answers: "ä".repeat(2_048) } } }),
      "spec.decisions.7.answers: answers are longer than 4 KiB",
    ],
    [
      run({ deadline: { after: "1h", countPark: true } }),
      "spec.deadline.countPark: unknown field; did you mean countParked?",
    ],
  ])("%j is refused", (manifest, message) => {
    expect(faults(manifest).join("\n")).toContain(message);
  });

  test("takes what kubectl prints of an object, without its status", () => {
    const printed = {
      ...run({}),
      metadata: {
        name: "r1",
        uid: "u",
        resourceVersion: "1",
        generation: 1,
        creationTimestamp: "t",
        managedFields: [{}],
      },
      status: { phase: "Running" },
    };
    const { status: _, ...manifest } = printed;
    expect(parseManifest(printed)).toEqual({ ok: true, object: manifest });
  });

  test("leaves values exactly as they are: big integers, odd keys, nothing filled in [semantics 3.8, 14.5]", () => {
    const input = JSON.parse('{"__proto__": 1, "nested": [null]}');
    input.id = 9007199254740993n;
    const manifest = run({ input });
    const parsed = parseManifest(manifest);
    expect(parsed.ok && (parsed.object.spec as { input: unknown }).input).toBe(input);
    expect(parsed.ok && parsed.object).toEqual(manifest);
  });
});

test("a path is written as people write it", () => {
  expect(pathText(["spec", "servers", 0, "headers", "x-team", "a b"])).toBe('spec.servers[0].headers.x-team["a b"]');
});

test("the edit distance counts inserted, left out and replaced letters", () => {
  expect(["", "url", "ulr", "kitten"].map((from) => editDistance(from, "url"))).toEqual([3, 0, 2, 6]);
});
