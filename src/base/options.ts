import { z } from "zod";
import { parseDurationMs } from "./duration.ts";
import { type Fault, HoldpointError } from "./errors.ts";

/** A duration's text (`90s`, `1h30m`), decoded to milliseconds. */
export const durationOption = z.string().transform((text, context) => {
  try {
    return parseDurationMs(text);
  } catch (error) {
    context.addIssue({ code: "custom", message: (error as Error).message });
    return z.NEVER;
  }
});

/** How much a program logs. */
export const logLevelOption = z.enum(
  ["debug", "info", "warn", "error", "silent"],
  "must be debug, info, warn, error or silent",
);

/** Where the journal is. @param missing what to say when it is not given */
export function databaseUrlOption(missing: string) {
  return z.string(missing).regex(/^postgres(ql)?:\/\//, "must begin with postgres://");
}

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

/**
 * Ends a program that could not start: says what is wrong and what to do.
 * @returns its exit code: 2 for wrong options, else 1
 */
export function sayStartFailure(program: string, error: unknown): 1 | 2 {
  const isOurs = error instanceof HoldpointError;
  const text = isOurs ? `${error.code}: ${error.message}\n${error.help}` : String((error as Error)?.message ?? error);
  process.stderr.write(`${program}: ${text}\n`);
  return isOurs && error.code === "InvalidOptions" ? 2 : 1;
}
