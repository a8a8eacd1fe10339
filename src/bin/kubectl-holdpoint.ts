#!/usr/bin/env node
import { holdpointProgram } from "../cli/holdpoint-program.ts";
import { runProgram } from "../cli/run-program.ts";
import { processTerminal } from "../cli/terminal.ts";

const terminal = processTerminal();
process.exitCode = await runProgram(holdpointProgram(terminal), terminal, process.argv.slice(2));
