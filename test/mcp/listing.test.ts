import { expect, test } from "vitest";
import { ledgerServer, mcpSource, scriptedServer } from "./fixtures.ts";

const soon = () => AbortSignal.timeout(20_000);
const tool = (index: number) => ({ name: `tool_${index}`, inputSchema: { type: "object" } });

test("all pages are listed, in order [semantics 1.1]", async () => {
  const tools = Array.from({ length: 250 }, (_, index) => tool(index));
  const server = await ledgerServer({ tools, paging: 100 });
  expect((await mcpSource(server.url).list(soon())).tools).toEqual(tools);
  expect(server.seen.methods["tools/list"]).toBe(3);
});

test("a cursor that comes back is a paging loop, found at the second page [case a01]", async () => {
  const server = await ledgerServer({ paging: "endless" });
  await expect(mcpSource(server.url).list(soon())).rejects.toMatchObject({ code: "PagingLoop" });
  expect(server.seen.methods["tools/list"]).toBe(2);
});

test("more than 10,000 tools are a paging loop [semantics 1.1]", async () => {
  const server = await ledgerServer({ tools: Array.from({ length: 10_001 }, (_, index) => tool(index)) });
  await expect(mcpSource(server.url).list(soon())).rejects.toMatchObject({ code: "PagingLoop" });
});

test("more than 1,000 pages are a paging loop [semantics 1.1]", async () => {
  const server = await ledgerServer({ tools: Array.from({ length: 1_001 }, (_, index) => tool(index)), paging: 1 });
  await expect(mcpSource(server.url).list(soon())).rejects.toMatchObject({ code: "PagingLoop" });
  expect(server.seen.methods["tools/list"]).toBe(1_000);
});

test("a listing of more than 32 MiB over its pages is given up [semantics 1.10]", async () => {
  const tools = Array.from({ length: 5 }, (_, index) => ({ ...tool(index), description: "x".repeat(8_000_000) }));
  const server = await ledgerServer({ tools, paging: 1 });
  await expect(mcpSource(server.url).list(soon())).rejects.toMatchObject({ code: "PagingLoop" });
});

test("an empty cursor is a cursor, null ends the listing [semantics 1.1]", async () => {
  const pages: Record<string, unknown> = {
    first: { tools: [tool(1)], nextCursor: "" },
    "": { tools: [tool(2)], nextCursor: null },
  };
  const url = await scriptedServer((method, params) => {
    if (method === "tools/list") return pages[(params["cursor"] as string | undefined) ?? "first"];
    return { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo: { name: "s", version: "" } };
  });
  const listing = await mcpSource(url, { protocol: "2025-11-25" }).list(soon());
  expect(listing).toEqual({
    protocol: "2025-06-18",
    tools: [tool(1), tool(2)],
    serverInfo: { name: "s", version: "" },
  });
});

test("tools come as they were sent, integers exact, and ttlMs with them [case a07]", async () => {
  const odd = { name: "odd", inputSchema: { const: 9007199254740993n }, unknown: ["kept", null] };
  const server = await ledgerServer({ tools: [odd], ttlMs: 5_000 });
  expect(await mcpSource(server.url).list(soon())).toMatchObject({ tools: [odd], ttlMs: 5_000 });
});

test("a refused credential is AuthenticationFailed, everything else ServerUnreachable with its cause", async () => {
  const refusing = await scriptedServer(() => 401);
  await expect(mcpSource(refusing).list(soon())).rejects.toMatchObject({ code: "AuthenticationFailed" });
  const broken = await scriptedServer(() => 503);
  await expect(mcpSource(broken).list(soon())).rejects.toMatchObject({
    code: "ServerUnreachable",
    message: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/mcp: HTTP 503/),
  });
  await expect(mcpSource("http://127.0.0.1:1/mcp?team=7").list(soon())).rejects.toMatchObject({
    code: "ServerUnreachable",
    message: expect.stringMatching(/^http:\/\/127\.0\.0\.1:1\/mcp: .*ECONNREFUSED/),
  });
});

test("a listing that takes too long is given up", async () => {
  const silent = await scriptedServer(() => undefined);
  const source = mcpSource(silent, { listTimeoutMs: 50, protocol: "2025-11-25" });
  await expect(source.list(soon())).rejects.toMatchObject({
    code: "ServerUnreachable",
    message: expect.stringContaining("timed out"),
  });
});
