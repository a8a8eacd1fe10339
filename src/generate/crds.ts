import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { stringify } from "yaml";
import { API_CATEGORY, API_GROUP, API_VERSION, type Kind, kindNames } from "../api/group.ts";
import { type PrinterColumn, resources } from "../api/resources.ts";
import { celValidations } from "../api/rules.ts";
import { structuralSchema } from "./structural-schema.ts";

const HEADER = "# Generated from src/api by `node src/generate/crds.ts`. Do not edit.\n";

/** The CustomResourceDefinition of one kind, as a plain object. */
export function customResourceDefinition(kind: Kind): Record<string, unknown> {
  const { plural, singular, shortNames } = kindNames[kind];
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${API_GROUP}` },
    spec: {
      group: API_GROUP,
      names: { kind, listKind: `${kind}List`, plural, singular, shortNames, categories: [API_CATEGORY] },
      scope: "Namespaced",
      versions: [
        {
          name: API_VERSION,
          served: true,
          storage: true,
          subresources: { status: {} },
          additionalPrinterColumns: resources[kind].columns.map(printerColumn),
          schema: { openAPIV3Schema: rootSchema(kind) },
        },
      ],
    },
  };
}

function rootSchema(kind: Kind): Record<string, unknown> {
  const { description, spec, status, rootRules } = resources[kind];
  return {
    type: "object",
    description,
    required: ["spec"],
    properties: {
      apiVersion: { type: "string", description: `Always ${API_GROUP}/${API_VERSION}.` },
      kind: { type: "string", description: `Always ${kind}.` },
      metadata: { type: "object" },
      spec: structuralSchema(spec),
      status: structuralSchema(status),
    },
    ...(rootRules.length === 0 ? {} : { "x-kubernetes-validations": celValidations(rootRules) }),
  };
}

function printerColumn({ name, type, jsonPath, description, wide }: PrinterColumn): Record<string, unknown> {
  return { name, type, jsonPath, description, ...(wide ? { priority: 1 } : {}) };
}

/** The CRD files by name, exactly as they are committed in `crds/`. */
export function crdFiles(): ReadonlyMap<string, string> {
  return new Map(
    (Object.keys(kindNames) as Kind[]).map((kind) => [
      `${kindNames[kind].plural}.${API_GROUP}.yaml`,
      HEADER +
        stringify(customResourceDefinition(kind), { lineWidth: 0, aliasDuplicateObjects: false, version: "1.1" }),
    ]),
  );
}

/** Writes the CRD files into a folder, which is made when it is not there. */
export async function writeCrds(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const [name, content] of crdFiles()) await writeFile(join(folder, name), content);
}

if (import.meta.main) await writeCrds(process.argv[2] ?? join(import.meta.dirname, "../../crds"));
