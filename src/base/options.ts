import type { z } from "zod";
import { type Fault, HoldpointError } from "./errors.ts";

/**
 * Decodes a program's options strictly, once, before it does anything.
 * @param raw option or variable names to texts; undefined ones count as not given
 * @throws HoldpointError `InvalidOptions` with every fault, by the option's name; values are never repeated in it
 */
export function decodeOptions<Schema extends z.ZodType>(
  schema: Schema,
  raw: Readonly<Record<string, string | undefined>>,
): z.output<Schema> {
  const decoded = schema.safeParse(raw);
  if (decoded.success) return decoded.data;
  const faults: Fault[] = decoded.error.issues.map((issue) => ({ path: issue.path.join("."), message: issue.message }));
  const lines = faults.map((fault) => `  ${fault.path}: ${fault.message}`);
  throw new HoldpointError("InvalidOptions", `these options are missing or wrong:\n${lines.join("\n")}`, { faults });
}
