import { type Document, isNode, LineCounter, parseAllDocuments } from "yaml";
import type { Fault } from "../base/errors.ts";
import { exactNumber, type Json } from "../base/exact-json.ts";

/** One document of a YAML file: its value, and where its parts stand in the file. */
export interface ManifestDocument {
  /** Integers exact. */
  readonly value: Json;
  /** `file:line` of the value at a path such as `spec.servers[0].url`, or of what is nearest above it. */
  place(path: string): string;
}

export interface ManifestText {
  readonly documents: readonly ManifestDocument[];
  /** What is no YAML or no JSON value; each path is `file:line`. */
  readonly faults: readonly Fault[];
}

/** Parses a YAML file of any number of documents; empty ones are left out. All faults are listed at once. */
export function parseManifestText(file: string, text: string): ManifestText {
  const lines = new LineCounter();
  const parsed = parseAllDocuments(text, { lineCounter: lines, intAsBigInt: true, prettyErrors: false });
  const documents: ManifestDocument[] = [];
  const faults: Fault[] = [];
  const lineAt = (offset: number) => `${file}:${lines.linePos(offset).line}`;
  for (const document of Array.isArray(parsed) ? parsed : []) {
    for (const error of [...document.errors, ...document.warnings])
      faults.push({ path: lineAt(error.pos[0]), message: error.message });
    if (document.errors.length > 0 || document.contents === null) continue;
    const place = (path: string) => lineAt(offsetOf(document, path));
    try {
      const value = exactJson(document.toJS(), "", (path, message) =>
        faults.push({ path: `${place(path)} ${path}`, message }),
      );
      if (value !== null) documents.push({ value, place });
    } catch (error) {
      // Aliases that would blow up, or that name nothing.
      faults.push({ path: lineAt(document.range[0]), message: error instanceof Error ? error.message : String(error) });
    }
  }
  return { documents, faults };
}

/** The parser's bigints become numbers where a double holds them; what JSON cannot hold is a fault. */
function exactJson(value: unknown, path: string, fault: (path: string, message: string) => void): Json {
  if (typeof value === "bigint") return exactNumber(String(value));
  if (typeof value === "number" && !Number.isFinite(value)) {
    fault(path, "JSON has no such number");
    return null;
  }
  if (Array.isArray(value)) return value.map((item, index) => exactJson(item, `${path}[${index}]`, fault));
  if (typeof value === "object" && value !== null) {
    const members = Object.entries(value).map(
      ([key, member]) => [key, exactJson(member, joined(path, key), fault)] as const,
    );
    return Object.fromEntries(members);
  }
  return value as Json;
}

function joined(path: string, key: string): string {
  if (!/^[A-Za-z0-9_$-]+$/.test(key)) return `${path}[${JSON.stringify(key)}]`;
  return path === "" ? key : `${path}.${key}`;
}

/** Where the value of that path begins, or of the nearest part above it that is there; an unknown field is found by its key. */
function offsetOf(document: Document.Parsed, path: string): number {
  const parts = pathParts(path);
  for (let length = parts.length; length > 0; length -= 1) {
    const node = document.getIn(parts.slice(0, length), true);
    if (isNode(node) && node.range) return node.range[0];
  }
  return document.contents?.range?.[0] ?? document.range[0];
}

function pathParts(path: string): (string | number)[] {
  return [...path.matchAll(/\[(\d+)\]|\["((?:[^"\\]|\\.)*)"\]|([^.[\]]+)/g)].map(([, index, quoted, name]) => {
    if (index !== undefined) return Number(index);
    return quoted === undefined ? (name ?? "") : String(JSON.parse(`"${quoted}"`));
  });
}
