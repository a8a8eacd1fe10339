import { spawn } from "node:child_process";
import { once } from "node:events";
import { join, resolve } from "node:path";
import { freePorts, until } from "../servers/watched-server.ts";

const program = join(resolve(import.meta.dirname, "../.."), "examples/triage/server.ts");

/** The example's issue tracker, as a process of its own on a free port. */
export async function startTracker(): Promise<{ url: string; stop: () => Promise<void> }> {
  const child = spawn(process.execPath, [program, "--port", "0"], { stdio: ["ignore", "pipe", "inherit"] });
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  const url = /http:\S+/.exec(line.toString())?.[0];
  if (url === undefined) throw new Error(`the tracker said: ${line}`);
  return {
    url,
    stop: async () => {
      const exited = once(child, "exit");
      child.kill("SIGTERM");
      await exited;
    },
  };
}

/** The reference server that shows everything, over streamable HTTP on a free port. */
export async function startEverything(): Promise<{ url: string; stop: () => Promise<void> }> {
  const [port = 0] = await freePorts(1);
  const program = join(resolve(import.meta.dirname, "../.."), "node_modules/.bin/mcp-server-everything");
  const child = spawn(program, ["streamableHttp"], { env: { ...process.env, PORT: String(port) }, stdio: "ignore" });
  const url = `http://127.0.0.1:${port}/mcp`;
  await until("the server answers", 20_000, async () => (await fetch(url)).status > 0);
  return {
    url,
    stop: async () => {
      const exited = once(child, "exit");
      child.kill("SIGTERM");
      await exited;
    },
  };
}
