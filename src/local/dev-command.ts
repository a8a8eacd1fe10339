import { dirname, join, resolve } from "node:path";
import { Command, CommanderError, InvalidArgumentError, Option } from "commander";
import { parseDurationMs } from "../base/duration.ts";
import { runDev } from "./dev.ts";
import { type DevOptions, EXIT } from "./dev-options.ts";
import { standardErrorVoice } from "./voice.ts";

interface DevFlags {
  readonly approve?: "all" | "none";
  readonly state?: string;
  readonly database?: string;
  readonly pinTimeout: number;
  readonly output?: "json";
  readonly logLevel?: string;
  readonly verbose?: boolean;
}

/** The command line of `holdpoint dev`. @param run gets the decoded options and gives the exit code */
export function devCommand(run: (options: DevOptions) => Promise<void>): Command {
  return new Command("dev")
    .description("Run the Runs of manifest files here, without a cluster, and go on where an earlier start stopped.")
    .argument("<files...>", "YAML files with Toolsets, Runs and Secrets")
    .addOption(new Option("--approve <which>", "decide approvals without asking").choices(["all", "none"]))
    .option("--state <folder>", "where the state is kept; .holdpoint beside the first file unless set")
    .option("--database <url>", "a Postgres in place of the one in the process", databaseUrl)
    .option("--pin-timeout <duration>", "how long a Toolset may take to be pinned", durationMs, 30_000)
    .addOption(new Option("-o, --output <format>", "the final objects on standard output").choices(["json"]))
    .addOption(new Option("--log-level <level>", "of the log on standard error").choices(LOG_LEVELS))
    .option("--verbose", "the same as --log-level info")
    .action((files: string[], flags: DevFlags) => run(decode(files, flags)));
}

const LOG_LEVELS = ["debug", "info", "warn", "error", "silent"];

function decode(files: readonly string[], flags: DevFlags): DevOptions {
  const [first = "."] = files;
  return {
    files,
    approve: flags.approve ?? "ask",
    stateFolder: resolve(flags.state ?? join(dirname(first), ".holdpoint")),
    databaseUrl: flags.database,
    pinTimeoutMs: flags.pinTimeout,
    outputJson: flags.output === "json",
    logLevel: flags.logLevel ?? (flags.verbose ? "info" : "error"),
  };
}

function databaseUrl(text: string): string {
  if (!/^postgres(ql)?:\/\//.test(text)) throw new InvalidArgumentError("it must begin with postgres://");
  return text;
}

function durationMs(text: string): number {
  try {
    return parseDurationMs(text);
  } catch (error) {
    throw new InvalidArgumentError(error instanceof Error ? error.message : String(error));
  }
}

/**
 * Runs the `holdpoint` program and gives its exit code. The first Ctrl-C (or SIGTERM) stops in order, the second at once.
 * @param argv arguments without the program and the script
 */
export async function runHoldpoint(argv: readonly string[]): Promise<number> {
  const voice = standardErrorVoice();
  const stop = new AbortController();
  const onSignal = () => {
    if (stop.signal.aborted) process.exit(EXIT.interrupted);
    voice.say("\nStopping: calls in flight may end. Once more to stop at once.");
    stop.abort();
  };
  process.on("SIGINT", onSignal).on("SIGTERM", onSignal);
  let exitCode: number = EXIT.succeeded;
  const command = devCommand(async (options) => {
    const print = (text: string) => void process.stdout.write(`${text}\n`);
    exitCode = await runDev(options, { voice, print }, stop.signal);
  });
  const program = new Command("holdpoint").description("Durable, policy-guarded tool calls.").addCommand(command);
  for (const each of [program, command]) each.exitOverride();
  try {
    await program.parseAsync([...argv], { from: "user" });
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.succeeded : EXIT.usage;
    throw error;
  } finally {
    process.off("SIGINT", onSignal).off("SIGTERM", onSignal);
  }
}
