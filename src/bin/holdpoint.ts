#!/usr/bin/env node
import { runHoldpoint } from "../local/dev-command.ts";

const exitCode = await runHoldpoint(process.argv.slice(2));
// What is written to a pipe may still be on its way; nothing else is left to be waited for.
process.stdout.write("", () => process.exit(exitCode));
