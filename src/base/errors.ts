/** One error that a user can meet: what it means for HTTP, and one line of help that says what to do. */
export interface ErrorCode {
  readonly httpStatus: number;
  readonly help: string;
}

/**
 * How a call can fail, as the script sees it in `ToolError.code` (semantics 4.7).
 * A run that does not handle such an error ends with the same code.
 */
export const callErrorCodes = {
  InvalidArguments: {
    httpStatus: 400,
    help: "The arguments do not fit the tool's input schema. Correct the named paths in the script.",
  },
  ToolFailed: { httpStatus: 502, help: "The tool itself reported an error. Its message says what it objects to." },
  ResultTooLarge: {
    httpStatus: 502,
    help: "The tool's result is larger than limits.resultBytes of the Toolset. Ask the tool for less, or raise the limit.",
  },
  Interrupted: {
    httpStatus: 502,
    help: "No answer came, and the call may have run. Look at the server before you try again.",
  },
  NotSent: {
    httpStatus: 503,
    help: "The server could not be reached, so the tool certainly did not run. Check the server and its URL.",
  },
  ProtocolError: {
    httpStatus: 502,
    help: "The server answered with a JSON-RPC error. Its code and message are in the error.",
  },
  Rejected: { httpStatus: 403, help: "Somebody rejected the call. The message says who and why." },
  ParkTimedOut: { httpStatus: 408, help: "Nobody resolved the parked call within the policy's parkTimeout." },
  Skipped: { httpStatus: 409, help: "An earlier outward call of the same step failed, so this one was not sent." },
  RequestRefused: {
    httpStatus: 403,
    help: "The request breaks a rule of the guarded http tool. The message names the rule.",
  },
  NoWorker: { httpStatus: 503, help: "No worker served the host tool within its queueTimeout. Start a worker for it." },
  Cancelled: { httpStatus: 409, help: "The run was cancelled while the call was open." },
} as const satisfies Record<string, ErrorCode>;

/** How a run can end in failure besides an unhandled call error (semantics 4.7). */
export const runErrorCodes = {
  ScriptInvalid: {
    httpStatus: 422,
    help: "The script does not type-check against the Toolset's declarations. Correct the named lines and create a new Run.",
  },
  ScriptCheckTooComplex: { httpStatus: 422, help: "The type-checker gave up on the script. Simplify its types." },
  ScriptThrew: {
    httpStatus: 422,
    help: "The script threw an error of its own. Its message and line are in the error.",
  },
  ScriptStalled: {
    httpStatus: 422,
    help: "The script waits for a promise that nothing can settle. Look at the line of the await.",
  },
  NondeterministicScript: {
    httpStatus: 500,
    help: "On replay the script made another call than recorded. Report it with the run's export.",
  },
  UnhandledToolError: {
    httpStatus: 422,
    help: "A call failed and nothing in the script handled it. Await the call, or catch its error.",
  },
  ResultNotSerializable: {
    httpStatus: 422,
    help: "The script returned something that is not JSON. The message names the path.",
  },
  MemoryLimit: { httpStatus: 422, help: "The script used more memory than its limit. Keep less in memory at once." },
  CpuLimit: {
    httpStatus: 422,
    help: "The script computed longer than its limit between two results. Split the work, or move it into a tool.",
  },
  CallLimit: { httpStatus: 422, help: "The script made more calls than its limit. Split the work over several runs." },
  JournalLimit: {
    httpStatus: 422,
    help: "The run's calls and results are larger than its limit in the journal. Ask the tools for less.",
  },
  DispatcherLost: {
    httpStatus: 500,
    help: "The dispatcher died three times while it evaluated this script. Look at its memory and at the script.",
  },
  DeadlineExceeded: { httpStatus: 408, help: "The run did not end within spec.deadline." },
} as const satisfies Record<string, ErrorCode>;

/** What the programs and reconcilers answer to bad input or a broken surrounding. */
export const systemErrorCodes = {
  InvalidManifest: {
    httpStatus: 400,
    help: "The manifest breaks the schema of its kind. Each fault is listed with its path.",
  },
  InvalidOptions: {
    httpStatus: 400,
    help: "An option of the program is missing or wrong. Each fault is listed with its name.",
  },
  NotSupportedYet: {
    httpStatus: 501,
    help: "The named field is known but does nothing in this version. Remove it, or upgrade once it is supported.",
  },
  NotParked: {
    httpStatus: 409,
    help: "The run has no parked call of that id. `kubectl holdpoint pending` lists what waits.",
  },
  AlreadyDecided: { httpStatus: 409, help: "Somebody else decided this call first. The message says who and how." },
  JournalUnavailable: {
    httpStatus: 503,
    help: "Postgres cannot be reached or does not take writes. Everything goes on when it does.",
  },
  JournalOfAnotherCluster: {
    httpStatus: 409,
    help: "The database holds the journal of another installation. Give each installation a database of its own.",
  },
  JournalEncoding: { httpStatus: 500, help: "The database's encoding must be UTF8. Create it with ENCODING 'UTF8'." },
  StateFolderCorrupt: {
    httpStatus: 500,
    help: "A file of the state folder holds no object. Restore the named file, or move it away: its object is then made anew.",
  },
  StateFolderInUse: {
    httpStatus: 409,
    help: "Wait until the other one has ended, or stop it, or give this one a state folder of its own with --state.",
  },
  LeaseLost: {
    httpStatus: 409,
    help: "Another dispatcher took the run over. Nothing is lost; this one starts again under a new identity.",
  },
  ServerUnreachable: {
    httpStatus: 503,
    help: "The MCP server does not answer. Check its URL, its pods and the NetworkPolicy between.",
  },
  AuthenticationFailed: {
    httpStatus: 401,
    help: "The MCP server refused the credential. Check the Credential for this server.",
  },
  PagingLoop: {
    httpStatus: 502,
    help: "The MCP server's tool listing does not end. No pin is made from it; report it to the server's authors.",
  },
  ReservedName: { httpStatus: 422, help: "A tool has a name listed in reservedNames. Exclude it under tools.exclude." },
  NameClash: {
    httpStatus: 422,
    help: "Two tools of one group have the same name, or a group has a built-in's name. Rename or exclude one.",
  },
  OutwardNotIdempotent: {
    httpStatus: 422,
    help: "An outward tool must be tagged newt/idempotent, or its policy be AtMostOnce or Park.",
  },
  SchemaUnsupported: {
    httpStatus: 422,
    help: "The tool's input schema cannot be used, so the tool is left out. The message says why.",
  },
} as const satisfies Record<string, ErrorCode>;

/** Every error code a user can see. A test holds the documentation against it. */
export const errorCodes = { ...callErrorCodes, ...runErrorCodes, ...systemErrorCodes } as const;

export type CallErrorCode = keyof typeof callErrorCodes;
export type RunErrorCode = keyof typeof runErrorCodes | CallErrorCode;
export type ErrorCodeName = keyof typeof errorCodes;

/** One fault of an input: where it is (a path such as `spec.servers[0].url`, or an option's name) and what is wrong. */
export interface Fault {
  readonly path: string;
  readonly message: string;
}

/** An error that reaches a user: a code of the registry, a message that says what and where, and all faults at once. */
export class HoldpointError extends Error {
  override readonly name = "HoldpointError";
  readonly code: ErrorCodeName;
  readonly faults: readonly Fault[];

  constructor(code: ErrorCodeName, message: string, options: { faults?: readonly Fault[]; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.faults = options.faults ?? [];
  }

  /** One line that says what to do about it. */
  get help(): string {
    return errorCodes[this.code].help;
  }
}
