import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { Agent, fetch as undiciFetch } from "undici";
import { CALL_TEXT } from "../workload.ts";
import { expectText } from "./contender.ts";

/** The most sockets to the server, as everybody here has: without a bound a thousand runs open a thousand. */
export const CONNECTIONS_MAX = 16;

/** A connected client of the MCP SDK, and the call that everybody makes with it. */
export async function connectSdkClient(url: string): Promise<(n: number) => Promise<string>> {
  const agent = new Agent({ connections: CONNECTIONS_MAX });
  const boundedFetch = (input: string | URL, init?: RequestInit) =>
    undiciFetch(input, { ...(init as object), dispatcher: agent }) as unknown as Promise<Response>;
  const client = new Client({ name: "bench", version: "1.0.0" });
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { fetch: boundedFetch }));
  await client.listTools();
  return async (n) => {
    const result = await client.callTool({ name: "echo", arguments: { n, text: CALL_TEXT } });
    const { text } = result.structuredContent as { text: string };
    expectText(text, CALL_TEXT);
    return text;
  };
}
