/**
 * The JSON documents that the journal keeps as text and that two parts share: a dispatcher writes them, the controller reads
 * them into status. Members are only ever added, so that an old row can always be read.
 */

/** What discovery noticed the last time it pinned (`toolsets.report`). */
export interface DiscoveryReport {
  /** The spec generation that was pinned, or tried. */
  readonly generation: number;
  readonly servers: readonly ServerReport[];
  /** Why no pin was made. Absent when one was. */
  readonly fault?: { readonly code: string; readonly message: string };
}

export interface ServerReport {
  readonly name: string;
  readonly reachable: boolean;
  readonly protocol?: string;
  readonly serverInfo?: { readonly name: string; readonly version: string };
  /** How many tools it listed that the spec includes. */
  readonly tools: number;
  /** When it last answered, milliseconds since the epoch. */
  readonly lastSeenMs?: number;
  /** What went wrong with this server. */
  readonly message?: string;
}

/** What stands beside a pin's content (`pins.notes`). */
export interface PinNotes {
  readonly contracts: Readonly<Record<string, string>>;
  readonly refused: readonly { readonly tool: string; readonly reason: string; readonly message: string }[];
  readonly warnings: readonly { readonly tool: string; readonly message: string }[];
}

/** What is put before whoever decides (`holds.shown`). */
export interface HoldShown {
  /** What is asked, in one or two sentences. */
  readonly message: string;
  /** The arguments' canonical JSON, cut at 2 KiB. */
  readonly preview: string;
  readonly previewCut: boolean;
  /** Of the whole arguments, UTF-8. */
  readonly argumentsBytes: number;
  readonly approvers?: {
    readonly users?: readonly string[];
    readonly groups?: readonly string[];
    readonly notRequester?: boolean;
  };
  /** The idempotency key of the call. */
  readonly key: string;
}

/** How many calls a run made (`runs.calls`). */
export interface CallCounts {
  readonly total: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly parked: number;
  readonly inFlight: number;
}

/** How a run failed (`runs.error`). */
export interface RunFailure {
  readonly code: string;
  readonly message: string;
  readonly tool?: string;
  readonly seq?: number;
  readonly outcomeUnknown?: boolean;
  readonly attempts?: number;
  readonly line?: number;
  readonly column?: number;
}

/** What the type-checker said of a script (`runs.accepted_note`): warnings when it was accepted, faults when it was not. */
export interface AcceptanceNote {
  readonly code?: string;
  readonly message: string;
  readonly diagnostics: readonly ScriptDiagnostic[];
}

/** One finding of the type-checker, at a place of the script (from 1). */
export interface ScriptDiagnostic {
  readonly line: number;
  readonly column: number;
  readonly message: string;
}
