import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type NodeIncomingMessageLike, toNodeHandler } from "@modelcontextprotocol/node";
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import { describe, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { attempt, mcpSource } from "./fixtures.ts";
import type { ControlState } from "./ledger-server.ts";
import { freePort, startProgram } from "./programs.ts";

const soon = () => AbortSignal.timeout(20_000);
const names = (tools: readonly unknown[]) => tools.map((tool) => (tool as { name: string }).name);

test("server-everything: listed, called, with progress, over its own sessions and streams", async () => {
  const port = String(await freePort());
  const file = "node_modules/@modelcontextprotocol/server-everything/dist/index.js";
  await startProgram(file, ["streamableHttp"], /listening on port/, { PORT: port });
  const source = mcpSource(`http://127.0.0.1:${port}/mcp`);
  const listing = await source.list(soon());
  expect(listing.protocol).toBe("2025-11-25");
  expect(names(listing.tools)).toEqual(expect.arrayContaining(["echo", "trigger-long-running-operation"]));
  expect(await source.call(attempt({ tool: "echo", argumentsText: '{"message":"hällo"}' }))).toEqual({
    kind: "answered",
    result: { isError: false, contentText: '[{"type":"text","text":"Echo: hällo"}]' },
  });
  const steps: number[] = [];
  const long = attempt({
    tool: "trigger-long-running-operation",
    argumentsText: '{"duration":0.2,"steps":4}',
    onProgress: ({ progress }) => steps.push(progress),
  });
  expect(await source.call(long)).toMatchObject({ kind: "answered", result: { isError: false } });
  expect(steps).toEqual([1, 2, 3, 4]);
});

describe("a server built with the SDK", () => {
  async function sdkServer(responseMode: "auto" | "sse" | "json", legacy: "stateless" | "reject"): Promise<string> {
    const handler = toNodeHandler(createMcpHandler(({ era }) => addingServer(era), { responseMode, legacy }));
    const http = createServer((request, response) => void handler(request as NodeIncomingMessageLike, response));
    await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => {
      http.closeAllConnections();
      http.close();
    });
    return `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`;
  }

  function addingServer(era: string): McpServer {
    const server = new McpServer({ name: "adder", version: "2.0.0" });
    const config = {
      inputSchema: z.object({ a: z.number(), b: z.number() }),
      outputSchema: z.object({ sum: z.number(), era: z.string() }),
    };
    server.registerTool("add", config, async ({ a, b }, ctx) => {
      const progressToken = ctx.mcpReq._meta?.progressToken;
      if (progressToken !== undefined) {
        await ctx.mcpReq.notify({ method: "notifications/progress", params: { progressToken, progress: 1, total: 1 } });
      }
      const value = { sum: a + b, era };
      return { content: [{ type: "text", text: JSON.stringify(value) }], structuredContent: value };
    });
    return server;
  }

  test.each([
    ["auto", "reject", "Auto", "2026-07-28", "modern"],
    ["sse", "stateless", "Auto", "2026-07-28", "modern"],
    ["json", "stateless", "2026-07-28", "2026-07-28", "modern"],
    ["auto", "stateless", "2025-11-25", "2025-11-25", "legacy"],
  ] as const)("%s, legacy %s, spoken to with %s", async (responseMode, legacy, protocol, negotiated, era) => {
    const source = mcpSource(await sdkServer(responseMode, legacy), { protocol });
    const listing = await source.list(soon());
    expect(listing).toMatchObject({ protocol: negotiated, serverInfo: { name: "adder", version: "2.0.0" } });
    expect(names(listing.tools)).toEqual(["add"]);
    const steps: number[] = [];
    const call = attempt({
      tool: "add",
      argumentsText: '{"a":1,"b":2}',
      onProgress: ({ progress }) => steps.push(progress),
    });
    expect(await source.call(call)).toMatchObject({
      kind: "answered",
      result: { isError: false, structuredText: `{"sum":3,"era":"${era}"}` },
    });
    expect(steps).toEqual(responseMode === "json" ? [] : [1]);
    expect(await source.call(attempt({ tool: "missing" }))).toMatchObject({ kind: "protocolError", rpcCode: -32602 });
  });
});

describe("the example's tracker", () => {
  const ready = /ready at (\S+)/;
  const create = (key: string) =>
    attempt({
      tool: "create_issue",
      argumentsText: '{"repo":"acme/app","title":"Triage"}',
      meta: { "codes.rewind/idempotency-key": key },
    });

  test("each key has one effect, also after a restart; its tools are tagged [semantics 4.3] [semantics 12.2]", async () => {
    const folder = mkdtempSync(join(tmpdir(), "tracker-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const state = join(folder, "state.json");
    const args = ["--port", "0", "--state", state];
    const [, url = ""] = await startProgram("examples/triage/server.ts", args, ready);
    const source = mcpSource(url);
    const listing = await source.list(soon());
    const tags = listing.tools.map((tool) => (tool as { name: string; _meta: unknown })._meta);
    expect(names(listing.tools)).toEqual(["list_issues", "create_issue", "add_comment"]);
    const outward = { "newt/retention": "outward", "newt/idempotent": true };
    expect(tags).toEqual([{ "newt/retention": "ephemeral" }, outward, outward]);
    const first = await source.call(create("r/3"));
    expect(first).toMatchObject({ kind: "answered", result: { structuredText: '{"number":5,"title":"Triage"}' } });
    expect(await source.call(create("r/3"))).toEqual(first);
    const comment = { tool: "add_comment", argumentsText: '{"repo":"acme/app","number":5,"body":"Done."}' };
    await source.call(attempt({ ...comment, meta: { "newt/idempotency_key": "r/4" } }));

    const [, again = ""] = await startProgram("examples/triage/server.ts", args, ready);
    expect(await mcpSource(again).call(create("r/3"))).toEqual(first);
    const kept = JSON.parse(readFileSync(state, "utf8")) as { repositories: Record<string, { comments: string[] }[]> };
    expect(kept.repositories["acme/app"]).toHaveLength(5);
    expect(kept.repositories["acme/app"]?.[4]?.comments).toEqual(["Done."]);
  });
});

test("the ledger server as a process of its own keeps its ledger in a file", async () => {
  const folder = mkdtempSync(join(tmpdir(), "ledger-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const args = ["--port", "0", "--ledger", join(folder, "ledger.jsonl")];
  // The program of the first round is killed only after the test, so each round reads what the other wrote to the file.
  for (const entries of [1, 2]) {
    const [url] = await startProgram("test/mcp/ledger-server.ts", args, /http:\S+/);
    const control = url.replace(/mcp$/, "control");
    const state = async () => (await (await fetch(control)).json()) as ControlState;
    await fetch(control, { method: "POST", body: '{"faults":[{"kind":"hold"}]}' });
    const call = mcpSource(url).call(attempt());
    await expect.poll(async () => (await state()).waiting, { timeout: 5_000 }).toBe(1);
    await fetch(control, { method: "POST", body: '{"release":true}' });
    expect(await call).toMatchObject({ kind: "answered" });
    const { effects, entries: kept } = await state();
    expect({ effects, kept: kept.length }).toEqual({ effects: { "run-1/1": 1 }, kept: entries });
  }
});
