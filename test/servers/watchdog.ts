import { spawn } from "node:child_process";
import { openSync } from "node:fs";

/**
 * Runs one server and ends it when its own parent is gone: the parent holds this process's standard input. What is written
 * there before it closes names the signal that ends the server; without a word it is killed.
 */
const spec = JSON.parse(process.argv[2] ?? "{}") as {
  command: string[];
  cwd: string;
  uid?: number;
  gid?: number;
  log?: string;
};
const { command, log, ...options } = spec;
const [program = "", ...args] = command;
const output = log === undefined ? "ignore" : openSync(log, "a");
const server = spawn(program, args, { ...options, stdio: ["ignore", output, output] });
server.once("exit", (code) => process.exit(code ?? 1));
server.once("error", () => process.exit(1));

let word = "";
process.stdin.on("data", (chunk) => {
  word += chunk;
});
const end = () => server.kill(word === "" ? "SIGKILL" : (word as NodeJS.Signals));
process.stdin.on("end", end).on("error", end);
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, end);
