import { dirname, join, resolve } from "node:path";
import { Command, CommanderError } from "commander";
import { z } from "zod";
import { parseDurationMs } from "../base/duration.ts";
import { HoldpointError } from "../base/errors.ts";
import { decodeOptions } from "../base/options.ts";
import { runDev } from "./dev.ts";
import { type DevOptions, EXIT } from "./dev-options.ts";
import { standardErrorVoice } from "./voice.ts";

/** Flags as commander gives them: texts, decoded all at once so that every fault is listed. */
type RawFlags = Readonly<Record<string, string | undefined>>;

const LOG_LEVELS = ["debug", "info", "warn", "error", "silent"] as const;

const durationMs = z.string().transform((text, context) => {
  try {
    return parseDurationMs(text);
  } catch (error) {
    context.addIssue({ code: "custom", message: error instanceof Error ? error.message : String(error) });
    return z.NEVER;
  }
});

const flagsSchema = z.object({
  "--approve": z.enum(["all", "none"], "must be all or none").optional(),
  "--state": z.string().min(1, "must name a folder").optional(),
  "--database": z
    .string()
    .regex(/^postgres(ql)?:\/\//, "must begin with postgres://")
    .optional(),
  "--pin-timeout": durationMs,
  "--output": z.enum(["json"], "must be json").optional(),
  "--log-level": z.enum(LOG_LEVELS, `must be ${LOG_LEVELS.join(", ")}`).optional(),
});

/** The command line of `holdpoint dev`. @param run gets the decoded options */
function devCommand(run: (options: DevOptions) => Promise<void>): Command {
  return new Command("dev")
    .description("Run the Runs of manifest files here, without a cluster, and go on where an earlier start stopped.")
    .argument("<files...>", "YAML files with Toolsets, Runs and Secrets")
    .option("--approve <all|none>", "decide approvals without asking: all of them, or none")
    .option("--state <folder>", "where the state is kept; .holdpoint beside the first file unless set")
    .option("--database <url>", "a Postgres in place of the one in the process")
    .option("--pin-timeout <duration>", "how long a Toolset may take to be pinned", "30s")
    .option("-o, --output <json>", "the final objects as JSON on standard output")
    .option("--log-level <level>", `of the log on standard error: ${LOG_LEVELS.join(", ")}; error unless set`)
    .option("--verbose", "the same as --log-level info")
    .addHelpText("after", EXIT_HELP)
    .action((files: string[], flags: RawFlags & { verbose?: boolean }) => run(decode(files, flags)));
}

const EXIT_HELP = `
Exit codes: 0 succeeded (also when it had already), 1 failed or cancelled, or not pinned in time, 2 bad usage or a manifest
that is refused before anything was stored, 3 only a person or a signal can go on, 130 stopped by Ctrl-C.`;

/** @throws HoldpointError `InvalidOptions` with every fault */
function decode(files: readonly string[], flags: RawFlags & { verbose?: boolean }): DevOptions {
  const decoded = decodeOptions(flagsSchema, {
    "--approve": flags["approve"],
    "--state": flags["state"],
    "--database": flags["database"],
    "--pin-timeout": flags["pinTimeout"],
    "--output": flags["output"],
    "--log-level": flags["logLevel"],
  });
  const [first = "."] = files;
  return {
    files,
    approve: decoded["--approve"] ?? "ask",
    stateFolder: resolve(decoded["--state"] ?? join(dirname(first), ".holdpoint")),
    databaseUrl: decoded["--database"],
    pinTimeoutMs: decoded["--pin-timeout"],
    outputJson: decoded["--output"] === "json",
    logLevel: decoded["--log-level"] ?? (flags.verbose ? "info" : "error"),
  };
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
    if (!(error instanceof HoldpointError)) throw error;
    voice.say(`${error.message}\nSee holdpoint dev --help.`);
    return EXIT.usage;
  } finally {
    process.off("SIGINT", onSignal).off("SIGTERM", onSignal);
  }
}
