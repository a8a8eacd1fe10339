import { type Logger, pino } from "pino";

export type { Logger } from "pino";

/**
 * A logger that writes one JSON object a line to standard error: level, time, part, message, and the fields of the event
 * (`run`, `seq`, `toolset` where they apply). No value of a call, a credential or a URL's query is ever passed to it.
 * @param level `debug`, `info`, `warn`, `error` or `silent`
 */
export function createLogger(part: string, level = "info"): Logger {
  return pino(
    {
      base: { part },
      level,
      formatters: { level: (label) => ({ level: label }) },
      timestamp: pino.stdTimeFunctions.isoTime,
      // An error's own fields may carry requests with headers: only its name, message, code and stack are written.
      serializers: { err: serializeError },
    },
    pino.destination({ fd: 2, sync: true }),
  );
}

function serializeError(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { message: String(error) };
  const code = (error as { code?: unknown }).code;
  return { name: error.name, message: error.message, ...(code === undefined ? {} : { code }), stack: error.stack };
}
