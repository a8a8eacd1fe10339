import { canonicalJson } from "../base/canonical-json.ts";
import type { Json } from "../base/exact-json.ts";
import { contractDigest, contractOf } from "./contract.ts";
import { childPath } from "./json-path.ts";
import type { NormalListing } from "./listing.ts";
import type { Pin, PinnedTool } from "./pin.ts";
import { isObject } from "./schema-value.ts";

/** One tool that is no longer what was pinned. */
export interface DriftEntry {
  /** `group.name` */
  readonly tool: string;
  readonly change: "Changed" | "Removed" | "Added";
  /** Readable: what differs, by path. */
  readonly summary: string;
}

/** How a server's listing differs from the pin. */
export interface Drift {
  /** By tool. Differences of contracts: these park calls (semantics 7.2). */
  readonly entries: readonly DriftEntry[];
  /** Tools whose words alone differ: shown, and nothing else (semantics 1.9). */
  readonly wordsChanged: readonly string[];
}

/** Differences that a summary lists, and how much of a value it shows. */
const DIFFERENCES_MAX = 6;
const VALUE_LENGTH_MAX = 60;

/**
 * Compares what one server lists now with what was pinned of it.
 * @param listing normalised with the selection the pin was made with
 */
export function findDrift(pin: Pin, group: string, listing: NormalListing): Drift {
  const pinned = new Map(pin.content.tools.filter((tool) => tool.group === group).map((tool) => [tool.name, tool]));
  const current = new Map(listing.tools.map((tool) => [tool.name, tool]));
  const entries: DriftEntry[] = [];
  const wordsChanged: string[] = [];
  for (const name of [...new Set([...pinned.keys(), ...current.keys()])].sort()) {
    const before = pinned.get(name);
    const now = current.get(name);
    const tool = `${group}.${name}`;
    if (before && now) {
      if (pin.contracts[tool] !== contractDigest(now)) {
        entries.push({ tool, change: "Changed", summary: contractDifference(before, now) });
      } else if (canonicalJson(before as unknown as Json) !== canonicalJson(now as unknown as Json)) {
        wordsChanged.push(tool);
      }
    } else if (before) entries.push({ tool, change: "Removed", summary: whyRemoved(tool, listing) });
    else entries.push({ tool, change: "Added", summary: "the server lists a tool that the pin does not hold" });
  }
  return { entries, wordsChanged };
}

function whyRemoved(tool: string, listing: NormalListing): string {
  const refused = listing.refused.find((entry) => entry.tool === tool);
  return refused ? refused.message : "the server no longer lists it";
}

/** A readable difference of two tools' contracts: `inputSchema.properties.title.type: "string" → "number"; …`. */
export function contractDifference(before: PinnedTool, now: PinnedTool): string {
  const differences: string[] = [];
  compare(contractOf(before), contractOf(now), "", differences);
  const listed = differences.slice(0, DIFFERENCES_MAX);
  const rest = differences.length - listed.length;
  return [...listed, ...(rest > 0 ? [`and ${rest} more`] : [])].join("; ");
}

function compare(before: Json | undefined, now: Json | undefined, path: string, differences: string[]): void {
  if (isObject(before) && isObject(now)) {
    for (const key of [...new Set([...Object.keys(before), ...Object.keys(now)])].sort()) {
      const child = childPath(path, key).replace(/^\./, "");
      compare(member(before, key), member(now, key), child, differences);
    }
    return;
  }
  const left = before === undefined ? undefined : canonicalJson(before);
  const right = now === undefined ? undefined : canonicalJson(now);
  if (left === right) return;
  if (left === undefined) differences.push(`${path} added: ${cut(right ?? "")}`);
  else if (right === undefined) differences.push(`${path} removed`);
  else differences.push(`${path}: ${cut(left)} → ${cut(right)}`);
}

function member(object: Record<string, Json>, key: string): Json | undefined {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

function cut(text: string): string {
  return text.length > VALUE_LENGTH_MAX ? `${text.slice(0, VALUE_LENGTH_MAX)}…` : text;
}
