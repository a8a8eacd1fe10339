/** What is to be checked. */
export interface CheckRequest {
  readonly declarationText: string;
  readonly script: string;
}

/** What the checker says of a script. */
export type CheckResult =
  | {
      readonly ok: true;
      /** The script as JavaScript: its types are blanked, so that every line and column is where it was. */
      readonly moduleSource: string;
      readonly warnings: readonly Diagnostic[];
    }
  | {
      readonly ok: false;
      readonly code: "ScriptInvalid" | "ScriptCheckTooComplex";
      readonly diagnostics: readonly Diagnostic[];
    };

/** One fault of a script, so that whoever wrote it can repair it. */
export interface Diagnostic {
  /** From 1. */
  readonly line: number;
  /** From 1, in UTF-16 code units. */
  readonly column: number;
  readonly text: string;
  /** The offending line, cut. */
  readonly source: string;
  /** What to write instead, where that is known. */
  readonly hint?: string;
}
