/**
 * What can be called, behind one port: a folder each for MCP servers, the guarded http tool, host tools, workflows and
 * built-ins. A source only makes one attempt and says exactly how it ended; whether to try again, park or give up is the
 * dispatcher's decision by policy.
 */
export interface ToolSource {
  /** Lists all tools of this source. @throws HoldpointError (ServerUnreachable, AuthenticationFailed, PagingLoop) */
  list(signal: AbortSignal): Promise<ToolListing>;
  /** Makes one attempt. Never rejects: whatever happens is an outcome. */
  call(request: AttemptRequest): Promise<AttemptOutcome>;
  /** Closes connections and sessions. Attempts under way end as interrupted. */
  close(): Promise<void>;
}

export interface ToolListing {
  /** As negotiated: `2026-07-28`, `2025-11-25` or older. */
  readonly protocol: string;
  readonly serverInfo?: { readonly name: string; readonly version: string };
  /** Each tool exactly as the server sent it, integers exact; validated and normalised by `toolset/`, not here. */
  readonly tools: readonly unknown[];
  /** How long the listing may be believed, when the server says so. */
  readonly ttlMs?: number;
}

export interface AttemptRequest {
  /** The tool's name as the server defines it, without the group. */
  readonly tool: string;
  /** Exact JSON text of the arguments object. */
  readonly argumentsText: string;
  /** What goes into `params._meta` (semantics 4.4): keys and text values. */
  readonly meta: Readonly<Record<string, unknown>>;
  /** Aborted when the attempt's total or idle time is up, or the run is cancelled: the request is then cancelled at the server. */
  readonly signal: AbortSignal;
  /** The pinned input schema, where the transport needs it (headers mirrored from arguments). */
  readonly inputSchema?: unknown;
  /** Called for each progress notification. */
  readonly onProgress?: (progress: { progress: number; total?: number; message?: string }) => void;
}

/** How one attempt ended. */
export type AttemptOutcome =
  /** The tool answered with success. */
  | { readonly kind: "answered"; readonly result: RawToolResult }
  /** A JSON-RPC error: an answer, not an interruption (semantics 5.4). */
  | { readonly kind: "protocolError"; readonly rpcCode: number; readonly message: string; readonly dataText?: string }
  /** It may have reached the server and no answer came (semantics 5.1). */
  | { readonly kind: "interrupted"; readonly cause: string; readonly retryAfterMs?: number }
  /** It certainly never reached the tool (semantics 5.3). */
  | { readonly kind: "notSent"; readonly cause: string; readonly retryAfterMs?: number }
  /** 401, 403 invalid_token: the credential was refused, the tool did not run. */
  | { readonly kind: "unauthorized"; readonly cause: string }
  /** The server asks before it goes on (semantics 7.4). */
  | { readonly kind: "inputRequired"; readonly requestsText: string; readonly requestState?: string }
  /** The tool answered, with more than any result may have; reading stopped there. */
  | { readonly kind: "tooLarge" }
  /** The answer breaks the protocol in a way that says that the tool may have run, and no repeat would differ. */
  | { readonly kind: "unreadable"; readonly cause: string };

/** A `CallToolResult` with exact texts: nothing of it was rounded or reshaped. */
export interface RawToolResult {
  readonly isError: boolean;
  /** Exact JSON text of the content blocks array. */
  readonly contentText: string;
  /** Exact JSON text, when the server sent structured content. */
  readonly structuredText?: string;
  /** Exact JSON text of the result's `_meta`. */
  readonly metaText?: string;
}
