import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { z } from "zod";
import { crdFiles } from "./crds.ts";
import { structuralSchema } from "./structural-schema.ts";

type Node = Record<string, unknown>;

/** Every schema inside a CRD's schema, with its path. */
function nodes(schema: Node, path: string): (readonly [string, Node])[] {
  const inner = [
    ...Object.entries((schema["properties"] as Record<string, Node> | undefined) ?? {}).map(
      ([name, node]) => [`${path}.${name}`, node] as const,
    ),
    ...["items", "additionalProperties"].flatMap((key) =>
      schema[key] === undefined ? [] : [[`${path}[]`, schema[key] as Node] as const],
    ),
  ];
  return [[path, schema], ...inner.flatMap(([at, node]) => nodes(node, at))];
}

const schemas = [...crdFiles()].flatMap(([file, content]) =>
  nodes(parse(content).spec.versions[0].schema.openAPIV3Schema, file).filter(
    ([path]) => !/[.](apiVersion|kind|metadata)$/.test(path),
  ),
);

describe("the CRDs", () => {
  test("are one file a kind", () => {
    expect([...crdFiles().keys()]).toEqual([
      "toolsets.holdpoint.dev.yaml",
      "runs.holdpoint.dev.yaml",
      "credentials.holdpoint.dev.yaml",
    ]);
  });

  test("bound every text, list and map", () => {
    const unbounded = schemas.filter(
      ([, node]) =>
        (node["type"] === "string" && node["enum"] === undefined && node["maxLength"] === undefined) ||
        (node["type"] === "array" && node["maxItems"] === undefined) ||
        (node["additionalProperties"] !== undefined && node["maxProperties"] === undefined) ||
        (node["type"] === "integer" && node["minimum"] === undefined),
    );
    expect(unbounded.map(([path]) => path)).toEqual([]);
  });

  test("hold no default: an applied manifest never differs [semantics 14.5]", () => {
    expect(schemas.filter(([, node]) => "default" in node)).toEqual([]);
  });

  test("say how every list is merged", () => {
    const silent = schemas.filter(
      ([, node]) => node["type"] === "array" && node["x-kubernetes-list-type"] === undefined,
    );
    expect(silent.map(([path]) => path)).toEqual([]);
  });

  test("give every rule a message", () => {
    const rules = schemas.flatMap(([, node]) => (node["x-kubernetes-validations"] as Node[] | undefined) ?? []);
    expect(rules.length).toBeGreaterThan(50);
    expect(rules.filter(({ message }) => typeof message !== "string" || message.length < 10)).toEqual([]);
  });
});

describe("structuralSchema", () => {
  test.each([
    ["a union", z.union([z.string(), z.object({})]), "has no structural form"],
    ["a field without a description", z.object({ a: z.string() }).describe("An object."), "has a description"],
  ])("refuses %s", (_, schema, message) => {
    expect(() => structuralSchema(schema)).toThrow(message);
  });
});
