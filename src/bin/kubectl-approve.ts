#!/usr/bin/env node
import { Command } from "commander";
import { approveCommand } from "../cli/approve-command.ts";
import { runProgram } from "../cli/run-program.ts";
import { processTerminal } from "../cli/terminal.ts";

const terminal = processTerminal();
const program = approveCommand(new Command("kubectl-approve"), terminal);
process.exitCode = await runProgram(program, terminal, process.argv.slice(2));
