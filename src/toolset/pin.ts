import type { Json, JsonObject } from "../base/exact-json.ts";

/**
 * What a pin holds: all that scripts of a Toolset may call, and nothing else. Its digest is the Toolset's id (semantics 1.2),
 * so every member here counts, and what does not count (serverInfo, warnings, times) stands beside it in `Pin`.
 */
export interface PinContent {
  readonly version: 1;
  /** By name. */
  readonly servers: readonly PinnedServer[];
  /** By group, then name (UTF-16 code units): the order in which a server lists does not count. */
  readonly tools: readonly PinnedTool[];
  /** As in the spec, in its order (first match wins); the spec's own texts, so that a new default changes no digest. */
  readonly policies: readonly JsonObject[];
  readonly limits: JsonObject;
}

export interface PinnedServer {
  readonly name: string;
  readonly url: string;
  readonly protocol: string;
  readonly auth: string;
  readonly audience?: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** One tool. Schemas are the server's own, exact. */
export interface PinnedTool {
  readonly group: string;
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly inputSchema: Json;
  readonly outputSchema?: Json;
  readonly annotations?: Json;
  readonly execution?: Json;
  /** The `newt/…` keys of the tool's `_meta`. */
  readonly tags: JsonObject;
}

/** A pin and what was noticed while it was made. */
export interface Pin {
  readonly digest: string;
  readonly content: PinContent;
  /** `group.name` to the contract digest of that tool: schemas without words, and tags (semantics 1.9). */
  readonly contracts: Readonly<Record<string, string>>;
  /** Tools left out alone, with the reason (semantics 1.5). */
  readonly refused: readonly {
    readonly tool: string;
    readonly reason: "SchemaUnsupported";
    readonly message: string;
  }[];
  /** What users should know of a tool that was pinned: a pattern not enforced, an output schema set aside. */
  readonly warnings: readonly { readonly tool: string; readonly message: string }[];
}
