/** What `holdpoint dev` was asked, decoded once. */
export interface DevOptions {
  readonly files: readonly string[];
  /** `ask`: in the terminal, where there is one; `all`: approvals are given at once; `none`: nobody is asked. */
  readonly approve: "ask" | "all" | "none";
  readonly stateFolder: string;
  /** A Postgres URL in place of the one in the process. */
  readonly databaseUrl: string | undefined;
  readonly pinTimeoutMs: number;
  readonly outputJson: boolean;
  readonly logLevel: string;
}

/** How `holdpoint dev` ends (architecture.md, "Locally"). */
export const EXIT = {
  /** Every run succeeded, also when it had already. */
  succeeded: 0,
  /** A run failed or was cancelled, or a Toolset could not be pinned. */
  failed: 1,
  /** Bad usage, or a manifest that was refused before anything was stored. */
  usage: 2,
  /** Only a person or a signal can go on. */
  waiting: 3,
  /** Ctrl-C, as shells count it: 128 and the signal's number. */
  interrupted: 130,
} as const;
