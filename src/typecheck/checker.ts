import type { ScriptDiagnostic } from "../journal/documents.ts";

/** What is checked: a script against the declarations of its pin. */
export interface CheckRequest {
  /** The text of `rewind-tools.d.ts`. */
  readonly declarationText: string;
  /** TypeScript, one ES module. */
  readonly script: string;
}

/** A script that may run, as JavaScript with every position kept; or why it may not (semantics 3.2). */
export type CheckResult =
  | { readonly ok: true; readonly moduleSource: string; readonly warnings: readonly ScriptDiagnostic[] }
  | {
      readonly ok: false;
      readonly code: "ScriptInvalid" | "ScriptCheckTooComplex";
      readonly diagnostics: readonly ScriptDiagnostic[];
    };

/** Type-checks scripts, away from everything that a hostile type could slow down or bring to its end. */
export interface ScriptChecker {
  /** @throws Error only when no check can be made at all; whatever a script does is a result */
  check(request: CheckRequest): Promise<CheckResult>;
  close(): Promise<void>;
}
