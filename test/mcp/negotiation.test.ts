import { expect, test } from "vitest";
import { attempt, httpServer, ledgerServer, mcpSource, structured } from "./fixtures.ts";

test.each([
  ["both", "2026-07-28", {}],
  ["modern", "2026-07-28", {}],
  ["modern", "2026-07-28", { stream: true }],
  ["legacy", "2025-11-25", {}],
  ["legacy", "2025-11-25", { stream: true, sessions: true }],
  ["legacy", "2025-11-25", { refusal: "invalidParams" }],
  ["legacy", "2025-11-25", { refusal: "http400" }],
  ["legacy", "2025-11-25", { refusal: "version400" }],
  ["legacy", "2025-11-25", { refusal: "discover200" }],
  ["legacy", "2025-11-25", { refusal: "html" }],
] as const)(
  "a server that speaks %s is listed and called by %s, %o [semantics 1.10]",
  async (eras, protocol, extra) => {
    const server = await ledgerServer({ eras, ...extra });
    const source = mcpSource(server.url);
    const listing = await source.list(AbortSignal.timeout(5_000));
    expect(listing).toMatchObject({ protocol, serverInfo: { name: "ledger", version: "1" } });
    expect(listing.tools).toEqual(server.behaviour.tools);
    expect(await source.call(attempt())).toEqual(structured('{"effect":1,"arguments":{"value":1}}'));
    expect(server.ledger.effects()).toEqual({ "run-1/1": 1 });
  },
);

test("a server that refuses a protocol and offers it at once is asked again", async () => {
  let asked = 0;
  const url = await httpServer((_request, response, body) => {
    const { id, method } = JSON.parse(body) as { id: number; method: string };
    response.setHeader("content-type", "application/json");
    const data = { supported: ["2026-07-28"], requested: "2026-07-28" };
    const error = { code: -32022, message: "Unsupported protocol version", data };
    const result = method === "tools/call" ? { content: [] } : { supportedVersions: ["2026-07-28"], capabilities: {} };
    response.statusCode = asked === 0 ? 400 : 200;
    response.end(JSON.stringify({ jsonrpc: "2.0", id, ...(asked++ === 0 ? { error } : { result }) }));
  });
  expect(await mcpSource(url).call(attempt())).toMatchObject({ kind: "answered" });
  expect(asked).toBe(3);
});

test("one handshake serves all calls, also those that wait for it together [semantics 4.5]", async () => {
  const server = await ledgerServer({ eras: "legacy", sessions: true });
  const source = mcpSource(server.url);
  const outcomes = await Promise.all(Array.from({ length: 20 }, () => source.call(attempt())));
  expect(outcomes.map((outcome) => outcome.kind)).toEqual(Array(20).fill("answered"));
  expect(server.seen.methods).toMatchObject({ "server/discover": 1, initialize: 1, "tools/call": 20 });
});

test("a protocol that is set is spoken without asking, and none other", async () => {
  const server = await ledgerServer({ eras: "legacy" });
  expect(await mcpSource(server.url, { protocol: "2025-11-25" }).call(attempt())).toMatchObject({ kind: "answered" });
  expect(server.seen.methods["server/discover"]).toBeUndefined();
  expect(await mcpSource(server.url, { protocol: "2026-07-28" }).call(attempt())).toMatchObject({
    kind: "notSent",
    cause: expect.stringContaining("does not speak 2026-07-28"),
  });
  const modern = await ledgerServer({ eras: "modern" });
  expect(await mcpSource(modern.url, { protocol: "2025-11-25" }).call(attempt())).toMatchObject({ kind: "notSent" });
});

test.each([404, 400, 401] as const)(
  "a session that the server answers with %i is renewed once for all who call [semantics 5.3]",
  async (unknownSession) => {
    const server = await ledgerServer({ eras: "legacy", sessions: true, unknownSession });
    const source = mcpSource(server.url);
    await source.call(attempt());
    server.forgetSessions();
    const keys = Array.from({ length: 10 }, (_, index) => `run-2/${index}`);
    const meta = (key: string) => ({ "codes.rewind/idempotency-key": key });
    const outcomes = await Promise.all(keys.map((key) => source.call(attempt({ meta: meta(key) }))));
    expect(outcomes.map((outcome) => outcome.kind)).toEqual(keys.map(() => "answered"));
    expect(server.seen.methods["initialize"]).toBe(2);
    expect(Object.values(server.ledger.effects())).toEqual(Array(11).fill(1));
  },
);

test("a session that is refused again after its renewal is not asked for a third time [semantics 5.3]", async () => {
  const server = await ledgerServer({ eras: "legacy", sessions: true });
  const source = mcpSource(server.url);
  await source.call(attempt());
  server.behaviour.faults = [{ kind: "status", status: 404, times: 2 }];
  expect(await source.call(attempt())).toMatchObject({ kind: "notSent", cause: expect.stringContaining("session") });
  expect(server.seen.methods["initialize"]).toBe(2);
});

test.each(["legacy", "modern"] as const)("a server that becomes %s is spoken to anew", async (eras) => {
  const server = await ledgerServer({
    eras: eras === "legacy" ? "modern" : "legacy",
    sessions: true,
    refusal: "version400",
  });
  const source = mcpSource(server.url);
  await source.call(attempt());
  server.behaviour.eras = eras;
  server.behaviour.sessions = false;
  server.forgetSessions();
  expect(await source.call(attempt({ meta: {} }))).toMatchObject({ kind: "answered" });
  expect((await source.list(AbortSignal.timeout(5_000))).protocol).toBe(
    eras === "legacy" ? "2025-11-25" : "2026-07-28",
  );
});

test("modern requests introduce themselves in headers and in _meta, beside the caller's own", async () => {
  const server = await ledgerServer();
  const source = mcpSource(server.url, { headers: { "X-Team": "triage", "MCP-Method": "forged" } });
  await source.call(attempt({ tool: "ä write" }));
  expect(server.seen.lastHeaders).toMatchObject({
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": "tools/call",
    "mcp-name": `=?base64?${Buffer.from("ä write").toString("base64")}?=`,
    "x-team": "triage",
  });
  expect(server.seen.lastMeta).toEqual({
    "codes.rewind/idempotency-key": "run-1/1",
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": { name: "holdpoint", version: "0.1.0" },
  });
});

test("arguments that the schema mirrors go into headers too", async () => {
  const server = await ledgerServer();
  const inputSchema = {
    type: "object",
    properties: {
      region: { type: "string", "x-mcp-header": "Region" },
      nested: { type: "object", properties: { dry: { type: "boolean", "x-mcp-header": "Dry-Run" } } },
      absent: { type: "integer", "x-mcp-header": "Absent" },
    },
  };
  await mcpSource(server.url).call(attempt({ inputSchema, argumentsText: '{"region":" eu","nested":{"dry":true}}' }));
  expect(server.seen.lastHeaders).toMatchObject({ "mcp-param-region": "=?base64?IGV1?=", "mcp-param-dry-run": "true" });
  expect(server.seen.lastHeaders["mcp-param-absent"]).toBeUndefined();
});

test("closing ends the session at the server, and later calls are not sent", async () => {
  const server = await ledgerServer({ eras: "legacy", sessions: true });
  const source = mcpSource(server.url);
  await source.call(attempt());
  await source.close();
  expect(await source.call(attempt())).toMatchObject({ kind: "notSent" });
  expect(server.ledger.entries).toHaveLength(1);
});
