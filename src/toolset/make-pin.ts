import { digestJson } from "../base/digest.ts";
import type { Json, JsonObject } from "../base/exact-json.ts";
import { contractDigest } from "./contract.ts";
import { type NormalListing, normaliseListing } from "./listing.ts";
import type { Pin, PinContent, PinnedServer, PinnedTool } from "./pin.ts";
import { type PinFault, refusals } from "./pin-rules.ts";
import type { ToolSelection } from "./tool-pattern.ts";

/** One server of the spec, and what it lists. */
export interface ServerListing {
  readonly server: PinnedServer;
  readonly selection: ToolSelection;
  /** Each tool as the server sent it, of all pages, integers exact. */
  readonly tools: readonly unknown[];
}

/** All that a pin is made from. */
export interface PinInput {
  readonly servers: readonly ServerListing[];
  /** As in the spec, in its order. */
  readonly policies: readonly JsonObject[];
  readonly limits: JsonObject;
  /** Tool names that a harness keeps for itself. No part of the pin. */
  readonly reservedNames: readonly string[];
}

/** A pin, or all reasons why none is made: then the old pin stays (semantics 1.5). */
export type PinResult =
  | { readonly ok: true; readonly pin: Pin }
  | { readonly ok: false; readonly faults: readonly PinFault[] };

/** Makes the pin of a Toolset: a pure function of what is listed, so that the same content gives the same digest (semantics 1.2). */
export function makePin(input: PinInput): PinResult {
  const listings = input.servers.map(({ server, selection, tools }) => normaliseListing(server.name, tools, selection));
  const tools = listings.flatMap((listing) => listing.tools).sort(byGroupAndName);
  const groups = input.servers.map(({ server }) => server.name);
  const faults = refusals({ groups, tools, policies: input.policies, reservedNames: input.reservedNames });
  if (faults.length > 0) return { ok: false, faults };
  const servers = input.servers.map(({ server }) => server).sort((left, right) => compare(left.name, right.name));
  const content: PinContent = { version: 1, servers, tools, policies: input.policies, limits: input.limits };
  return { ok: true, pin: { digest: pinDigest(content), content, contracts: contracts(tools), ...notes(listings) } };
}

/** The digest of a pin's content: its id. Specified in docs/pin-digest.md. */
export function pinDigest(content: PinContent): string {
  return digestJson(content as unknown as Json);
}

/** `group.name` to contract digest, of each tool. */
export function contracts(tools: readonly PinnedTool[]): Record<string, string> {
  return Object.fromEntries(tools.map((tool) => [`${tool.group}.${tool.name}`, contractDigest(tool)]));
}

function notes(listings: readonly NormalListing[]): Pick<Pin, "refused" | "warnings"> {
  return {
    refused: listings.flatMap((listing) => listing.refused),
    warnings: listings.flatMap((listing) => listing.warnings),
  };
}

function byGroupAndName(left: PinnedTool, right: PinnedTool): number {
  return compare(left.group, right.group) || compare(left.name, right.name);
}

function compare(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}
