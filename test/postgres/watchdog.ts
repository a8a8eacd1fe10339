import { spawn } from "node:child_process";

/**
 * Runs one server and ends it when its own parent is gone: the parent holds this process's standard input. What is written
 * there before it closes says how: `fast` lets the server end in order, anything else is a crash.
 */
const { command, ...options } = JSON.parse(process.argv[2] ?? "{}") as { command: string[]; cwd: string; uid?: number; gid?: number };
const [program = "", ...args] = command;
const server = spawn(program, args, { ...options, stdio: "ignore" });
server.once("exit", (code) => process.exit(code ?? 1));
server.once("error", () => process.exit(1));

let word = "";
process.stdin.on("data", (chunk) => {
  word += chunk;
});
const end = () => server.kill(word === "fast" ? "SIGINT" : "SIGQUIT");
process.stdin.on("end", end).on("error", end);
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, end);
