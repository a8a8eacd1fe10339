import type { Run } from "../../api/resources.ts";
import { unsupportedFields } from "../../api/supported.ts";
import type { RunContext } from "./run-context.ts";

/** States `Accepted=False`, `NotSupportedYet`: a field that does nothing yet is never ignored in silence. */
export async function supportedStep({ pass, view }: RunContext): Promise<void> {
  if (view) return;
  const fields = unsupportedFields(pass.object as unknown as Run);
  if (fields.length === 0) return;
  const message = `this version knows, but does not carry out: ${fields.join(", ")}. Remove it, and create the Run anew under another name`;
  refuse(pass, "NotSupportedYet", message);
}

/** A Run that is not accepted has failed for good (api.md). */
export function refuse(pass: RunContext["pass"], reason: string, message: string): void {
  pass.status = { phase: "Failed", reason, error: { code: reason, message } };
  pass.condition("Accepted", "False", reason, message);
  pass.event("Warning", reason, message);
  pass.stopped = true;
}
