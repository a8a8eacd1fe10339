import { readFile } from "node:fs/promises";
import { z } from "zod";
import { parseManifest } from "../api/manifest.ts";
import type { RunSpec } from "../api/run-spec.ts";
import type { Fault } from "../base/errors.ts";
import { HoldpointError } from "../base/errors.ts";
import type { Json, JsonObject } from "../base/exact-json.ts";
import type { Manifest } from "../objects/memory-store.ts";
import type { ObjectKind } from "../objects/store.ts";
import { type ManifestDocument, parseManifestText } from "./manifest-text.ts";

/** One object that the files ask for. */
export interface LocalManifest {
  readonly kind: ObjectKind;
  readonly object: Manifest;
  /** `metadata.generateName`: the object's name is still a beginning. */
  readonly generateName?: string;
  /** `file:line`, for messages. */
  readonly place: string;
  readonly file: string;
}

/** The namespace of manifests that name none. */
export const DEFAULT_NAMESPACE = "default";
const FILE_BYTES_MAX = 8 * 1024 * 1024;

/**
 * Reads manifest files: Toolsets, Runs and Credentials, checked as the API server would check them, and plain Secrets and
 * ConfigMaps.
 * @throws HoldpointError `InvalidManifest` with every fault of every file, by `file:line path`; nothing was stored
 */
export async function readManifests(files: readonly string[]): Promise<LocalManifest[]> {
  const faults: Fault[] = [];
  const manifests: LocalManifest[] = [];
  for (const file of files) {
    const text = await readText(file).catch((error: unknown) => {
      faults.push({ path: file, message: error instanceof Error ? error.message : String(error) });
      return "";
    });
    const parsed = parseManifestText(file, text);
    faults.push(...parsed.faults);
    for (const document of parsed.documents) {
      const read = readDocument(file, document);
      if (Array.isArray(read)) faults.push(...read);
      else manifests.push(read as LocalManifest);
    }
  }
  faults.push(...crossFaults(manifests));
  if (faults.length === 0) return manifests;
  throw new HoldpointError("InvalidManifest", "the manifests are refused, and nothing was stored", { faults });
}

async function readText(file: string): Promise<string> {
  const bytes = await readFile(file);
  if (bytes.length > FILE_BYTES_MAX) throw new RangeError(`the file is larger than ${FILE_BYTES_MAX} bytes`);
  return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
}

function readDocument(file: string, document: ManifestDocument): LocalManifest | Fault[] {
  const { value, place } = document;
  const kind = isObject(value) ? value["kind"] : undefined;
  const plain = kind === "Secret" || kind === "ConfigMap" ? plainObject(kind, value) : parseManifest(value);
  if (!plain.ok) {
    return plain.faults.map(({ path, message }) => ({
      path: `${place(path)}${path === "" ? "" : ` ${path}`}`,
      message,
    }));
  }
  const { metadata, ...content } = plain.object as unknown as { metadata: ManifestMetadata };
  const { name, generateName, namespace = DEFAULT_NAMESPACE, labels, annotations } = metadata;
  const object = {
    ...content,
    metadata: {
      name: name ?? generateName ?? "",
      namespace,
      ...(labels === undefined ? {} : { labels }),
      ...(annotations === undefined ? {} : { annotations }),
    },
  };
  const generated = name === undefined && generateName !== undefined ? { generateName } : {};
  return { kind: kind as ObjectKind, object, ...generated, place: place("kind"), file };
}

interface ManifestMetadata {
  readonly name?: string;
  readonly generateName?: string;
  readonly namespace?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

const texts = z.record(z.string(), z.string());
const plainSchema = z.object({
  apiVersion: z.literal("v1"),
  metadata: z.looseObject({ name: z.string().min(1), namespace: z.string().optional(), labels: texts.optional() }),
  data: texts.optional(),
  stringData: texts.optional(),
  immutable: z.boolean().optional(),
});

type Checked =
  | { readonly ok: true; readonly object: unknown }
  | { readonly ok: false; readonly faults: readonly Fault[] };

function plainObject(kind: "Secret" | "ConfigMap", value: Json): Checked {
  const parsed = plainSchema.safeParse(value);
  // Only the path and the kind of fault are told: a Secret's values are repeated nowhere.
  if (!parsed.success) {
    return {
      ok: false,
      faults: parsed.error.issues.map(({ path, code }) => ({
        path: path.join("."),
        message: `wrong in a v1 ${kind} (${code})`,
      })),
    };
  }
  const broken = Object.entries(kind === "Secret" ? (parsed.data.data ?? {}) : {}).filter(
    ([, text]) => !isBase64(text),
  );
  if (broken.length === 0) return { ok: true, object: parsed.data };
  return {
    ok: false,
    faults: broken.map(([key]) => ({
      path: `data.${key}`,
      message: "must be base64; plain text stands under stringData",
    })),
  };
}

function isBase64(text: string): boolean {
  return /^[A-Za-z0-9+/]*={0,2}$/.test(text.replace(/\s/g, "")) && text.replace(/\s/g, "").length % 4 === 0;
}

/** What only shows when all files are seen together. */
function crossFaults(manifests: readonly LocalManifest[]): Fault[] {
  const faults: Fault[] = [];
  const seen = new Map<string, string>();
  for (const { kind, object, generateName, place } of manifests) {
    if (generateName !== undefined) continue;
    const key = `${kind} ${object.metadata.namespace}/${object.metadata.name}`;
    const first = seen.get(key);
    if (first !== undefined) faults.push({ path: place, message: `${key} stands already at ${first}` });
    seen.set(key, place);
  }
  for (const { object, place } of ofKind(manifests, "Run")) {
    const { toolset } = object.spec as RunSpec;
    if (!seen.has(`Toolset ${object.metadata.namespace}/${toolset.name}`)) {
      const message = `spec.toolset.name: no Toolset "${toolset.name}" in namespace ${object.metadata.namespace} among the files`;
      faults.push({ path: place, message });
    }
  }
  return faults;
}

/** The manifests of one kind. */
export function ofKind(manifests: readonly LocalManifest[], kind: ObjectKind): LocalManifest[] {
  return manifests.filter((manifest) => manifest.kind === kind);
}

function isObject(value: Json): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
