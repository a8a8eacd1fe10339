#!/usr/bin/env node
import { Command } from "commander";
import { rejectCommand } from "../cli/reject-command.ts";
import { runProgram } from "../cli/run-program.ts";
import { processTerminal } from "../cli/terminal.ts";

const terminal = processTerminal();
const program = rejectCommand(new Command("kubectl-reject"), terminal);
process.exitCode = await runProgram(program, terminal, process.argv.slice(2));
