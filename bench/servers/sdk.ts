import { createServer } from "node:http";
import { type NodeIncomingMessageLike, toNodeHandler } from "@modelcontextprotocol/node";
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import { z } from "zod";
import { serveUntilParentEnds } from "./serve.ts";

/** A server as most people build one: with the MCP SDK, a tool with both schemas. */
const handler = toNodeHandler(
  createMcpHandler(
    () => {
      const server = new McpServer({ name: "sdk", version: "1.0.0" });
      const config = {
        inputSchema: z.object({ n: z.number(), text: z.string() }),
        outputSchema: z.object({ text: z.string() }),
      };
      server.registerTool("echo", config, async ({ text }) => ({
        content: [{ type: "text", text: JSON.stringify({ text }) }],
        structuredContent: { text },
      }));
      return server;
    },
    { legacy: "stateless", responseMode: "json" },
  ),
);

serveUntilParentEnds(createServer((request, response) => void handler(request as NodeIncomingMessageLike, response)));
