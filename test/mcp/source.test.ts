import { afterEach, expect, test } from "vitest";
import { createMcpSource, type McpSourceOptions } from "../../src/tools/mcp/source.ts";
import type { AttemptRequest, ToolSource } from "../../src/tools/port.ts";
import { type LedgerServer, startLedgerServer } from "./ledger-server.ts";

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function server(options: Parameters<typeof startLedgerServer>[0] = {}): Promise<LedgerServer> {
  const started = await startLedgerServer(options);
  cleanups.push(() => started.close());
  return started;
}

function source(url: string, options: Partial<McpSourceOptions> = {}): ToolSource {
  const made = createMcpSource({ url, ...options });
  cleanups.push(() => made.close());
  return made;
}

function attempt(over: Partial<AttemptRequest> = {}): AttemptRequest {
  return {
    tool: "write",
    argumentsText: '{"value":1}',
    meta: { "codes.rewind/idempotency-key": "run-1/1" },
    signal: AbortSignal.timeout(10_000),
    ...over,
  };
}

const structured = (text: string) => ({
  kind: "answered",
  result: { isError: false, contentText: "[]", structuredText: text },
});

test.each([
  ["both", "2026-07-28", {}],
  ["modern", "2026-07-28", {}],
  ["modern", "2026-07-28", { stream: true }],
  ["legacy", "2025-11-25", {}],
  ["legacy", "2025-11-25", { stream: true, sessions: true }],
  ["legacy", "2025-11-25", { refusal: "invalidParams" }],
  ["legacy", "2025-11-25", { refusal: "http400" }],
  ["legacy", "2025-11-25", { refusal: "discover200" }],
  ["legacy", "2025-11-25", { refusal: "html" }],
] as const)(
  "a server that speaks %s is listed and called by %s, %o [semantics 1.10]",
  async (eras, protocol, extra) => {
    const ledger = await server({ eras, ...extra });
    const mcp = source(ledger.url);
    const listing = await mcp.list(AbortSignal.timeout(5_000));
    expect(listing).toMatchObject({ protocol, serverInfo: { name: "ledger", version: "1" } });
    expect(listing.tools).toEqual(ledger.behaviour.tools);
    expect(await mcp.call(attempt())).toEqual(structured('{"effect":1,"arguments":{"value":1}}'));
    expect(ledger.ledger.effects()).toEqual({ "run-1/1": 1 });
  },
);
