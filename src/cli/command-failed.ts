import type { ErrorCodeName } from "../base/errors.ts";

/** A command ends with exit code 1: what went wrong, and what to do. Both lines may hold line breaks of ours. */
export class CommandFailed extends Error {
  override readonly name = "CommandFailed";
  readonly code: ErrorCodeName | undefined;
  readonly help: string | undefined;

  constructor(message: string, options: { code?: ErrorCodeName; help?: string } = {}) {
    super(message);
    this.code = options.code;
    this.help = options.help;
  }
}
