import { canonicalJson } from "../base/canonical-json.ts";
import { digestText } from "../base/digest.ts";
import { type Json, type JsonObject, parseExact } from "../base/exact-json.ts";

/** The ConfigMap that holds the whole of a parked call whose preview was cut. */
export function wholeCallName(runId: string, holdId: string): string {
  return `holdpoint-call-${runId}-${holdId}`;
}

/** What a decision is about, whole: tool, server and arguments as canonical JSON. `callDigest` is its digest (semantics 7.9). */
export function wholeCallText(tool: string, server: string, args: Json): string {
  return canonicalJson({ arguments: args, server, tool });
}

/** The arguments out of such a text, as canonical JSON; undefined when it is not what the digest is over. */
export function wholeArguments(text: string, callDigest: string): string | undefined {
  if (digestText(text) !== callDigest) return undefined;
  return canonicalJson((parseExact(text) as JsonObject)["arguments"] as Json);
}
