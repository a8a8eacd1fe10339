import { describe, expect, test } from "vitest";
import type { Clock } from "../../src/base/clock.ts";
import { attempt, ledgerServer, mcpSource, rawServer, structured, until } from "./fixtures.ts";

describe("what certainly never reached the tool is notSent [semantics 5.3]", () => {
  test.each([
    ["refused connection", "http://127.0.0.1:1/mcp", /ECONNREFUSED/],
    ["unknown host", "http://no-such-host.invalid/mcp", /ENOTFOUND|EAI_AGAIN/],
  ])("%s", async (_name, url, cause) => {
    expect(await mcpSource(url).call(attempt())).toEqual({ kind: "notSent", cause: expect.stringMatching(cause) });
  });

  test("TLS that fails", async () => {
    const url = await rawServer((socket) => socket.end("this is no TLS"));
    const outcome = await mcpSource(url.replace("http:", "https:")).call(attempt());
    expect(outcome).toMatchObject({ kind: "notSent" });
  });

  test("a link-local or metadata address, whatever its form, is never connected to [semantics 1.8]", async () => {
    for (const host of [
      "169.254.169.254",
      "[fe80::1]",
      "[::ffff:169.254.169.254]",
      "2852039166",
      "[64:ff9b::a9fe:a9fe]",
    ]) {
      const outcome = await mcpSource(`http://${host}/mcp`, { connectTimeoutMs: 200 }).call(attempt());
      expect(outcome).toMatchObject({ kind: "notSent", cause: expect.stringContaining("link-local or metadata") });
    }
  });

  test("429, with its pause in seconds or as a date", async () => {
    const nowMs = Date.parse("2026-03-01T00:00:00Z");
    const clock: Clock = { nowMs: () => nowMs, monotonicMs: () => 0 };
    const server = await ledgerServer();
    const source = mcpSource(server.url, { clock });
    for (const value of ["7", "Sun, 01 Mar 2026 00:00:07 GMT"]) {
      server.behaviour.faults = [{ kind: "status", status: 429, headers: { "retry-after": value } }];
      expect(await source.call(attempt())).toMatchObject({ kind: "notSent", retryAfterMs: 7_000 });
    }
    expect(server.ledger.entries).toEqual([]);
  });

  test("a handshake that fails", async () => {
    const url = await rawServer((socket) => {
      socket.on("data", () => socket.end("HTTP/1.1 503 Busy\r\nretry-after: 3\r\ncontent-length: 0\r\n\r\n"));
    });
    expect(await mcpSource(url).call(attempt())).toEqual({ kind: "notSent", cause: "HTTP 503", retryAfterMs: 3_000 });
  });

  test("a call that is cancelled while the server is not even connected to", async () => {
    const url = await rawServer((socket) => socket.pause());
    const abort = new AbortController();
    const call = mcpSource(url).call(attempt({ signal: abort.signal }));
    abort.abort();
    expect(await call).toEqual({ kind: "notSent", cause: "cancelled" });
  });

  test("a call that waited for a free connection", async () => {
    const server = await ledgerServer({ faults: [{ kind: "hold" }] });
    const source = mcpSource(server.url, { connectionsMax: 1 });
    const first = source.call(attempt());
    await until(() => server.waiting() === 1);
    const abort = new AbortController();
    const second = source.call(attempt({ signal: abort.signal, meta: {} }));
    abort.abort();
    expect(await second).toEqual({ kind: "notSent", cause: "cancelled" });
    server.release();
    expect(await first).toMatchObject({ kind: "answered" });
    expect(server.ledger.entries).toHaveLength(1);
  });
});

describe("what may have reached the tool without an answer is interrupted, at once [semantics 5.1]", () => {
  test.each([
    ["a connection cut before the effect", { kind: "dropBefore" }, 0],
    ["a connection cut after the effect", { kind: "dropAfter" }, 1],
    ["a connection reset in the middle of the answer", { kind: "cutAnswer" }, 1],
    ["a stream that ends", { kind: "endStream" }, 1],
    ["a body that is no JSON", { kind: "raw", body: '{"jsonrpc":"2.0","id":' }, 1],
    ["a page of HTML", { kind: "raw", body: "<html></html>", contentType: "text/html" }, 1],
    ["an empty body", { kind: "raw", body: "" }, 1],
    ["the id of another request", { kind: "raw", body: '{"jsonrpc":"2.0","id":9999,"result":{"content":[]}}' }, 1],
    ["an event that is no JSON", { kind: "raw", body: "data: {oops\n\n", contentType: "text/event-stream" }, 1],
    ["502", { kind: "status", status: 502 }, 0],
    ["500", { kind: "status", status: 500, body: "Internal Server Error" }, 0],
  ] as const)("%s", async (_name, fault, effects) => {
    for (const eras of ["modern", "legacy"] as const) {
      const server = await ledgerServer({ eras });
      const source = mcpSource(server.url);
      await source.list(AbortSignal.timeout(5_000));
      server.behaviour.faults = [fault];
      const startMs = performance.now();
      expect(await source.call(attempt())).toMatchObject({ kind: "interrupted" });
      expect(performance.now() - startMs).toBeLessThan(1_000);
      expect(server.ledger.entries).toHaveLength(effects);
    }
  });

  test("503 says when to come back", async () => {
    const server = await ledgerServer();
    const source = mcpSource(server.url);
    await source.list(AbortSignal.timeout(5_000));
    server.behaviour.faults = [{ kind: "status", status: 503, headers: { "retry-after": "120" } }];
    expect(await source.call(attempt())).toEqual({ kind: "interrupted", cause: "HTTP 503", retryAfterMs: 120_000 });
  });

  test("closing the source", async () => {
    const server = await ledgerServer({ faults: [{ kind: "hold" }] });
    const source = mcpSource(server.url);
    const call = source.call(attempt());
    await until(() => server.waiting() === 1);
    await source.close();
    expect(await call).toMatchObject({ kind: "interrupted", cause: expect.stringContaining("closed") });
  });
});

describe("a call that is given up is cancelled at the server [semantics 5.5]", () => {
  test.each(["modern", "legacy"] as const)("%s", async (eras) => {
    const server = await ledgerServer({ eras, faults: [{ kind: "hold" }, { kind: "hold" }] });
    const source = mcpSource(server.url);
    const abort = new AbortController();
    const cancelled = source.call(attempt({ signal: abort.signal }));
    await until(() => server.waiting() === 1);
    abort.abort();
    expect(await cancelled).toEqual({ kind: "interrupted", cause: "cancelled" });
    expect(await source.call(attempt({ signal: AbortSignal.timeout(50) }))).toMatchObject({ cause: "timed out" });
    await until(() => server.seen.closedByClient === 2);
    if (eras === "legacy") await until(() => server.seen.cancelledIds.length === 2);
    else expect(server.seen.cancelledIds).toEqual([]);
  });
});

test.each([401, 403])("%i is unauthorized, and no text of the server comes along [case g01]", async (status) => {
  const server = await ledgerServer();
  const source = mcpSource(server.url);
  await source.list(AbortSignal.timeout(5_000));
  server.behaviour.faults = [{ kind: "status", status, body: "bad token: planted-7f3a" }];
  const outcome = await source.call(attempt());
  expect(outcome).toMatchObject({ kind: "unauthorized" });
  expect(JSON.stringify(outcome)).not.toContain("planted");
});

test("a JSON-RPC error is an answer [semantics 5.4]", async () => {
  const server = await ledgerServer({ faults: [{ kind: "error", code: -32602, message: "Unknown tool" }] });
  expect(await mcpSource(server.url).call(attempt())).toEqual({
    kind: "protocolError",
    rpcCode: -32602,
    message: "Unknown tool",
  });
});

test("integers keep their digits in both directions [case a07]", async () => {
  const resultText =
    '{"structuredContent":{"id":9007199254740993},"content":[{"type":"text","text":"{\\"id\\":9007199254740993}"}]}';
  const server = await ledgerServer({ faults: [{ kind: "result", resultText }] });
  const source = mcpSource(server.url);
  expect(await source.call(attempt())).toEqual({
    kind: "answered",
    result: {
      isError: false,
      structuredText: '{"id":9007199254740993}',
      contentText: '[{"type":"text","text":"{\\"id\\":9007199254740993}"}]',
    },
  });
  await source.call(attempt({ meta: {}, argumentsText: '{"id":9007199254740993}' }));
  expect(server.ledger.entries[1]?.argumentsText).toBe('{"id":9007199254740993}');
});

test("an error result is handed on as it is, with its structured content [case a09]", async () => {
  const resultText = '{"isError":true,"content":[],"structuredContent":{"error":"no such folder","hint":"use /srv"}}';
  const server = await ledgerServer({ faults: [{ kind: "result", resultText }] });
  expect(await mcpSource(server.url).call(attempt())).toEqual({
    kind: "answered",
    result: {
      isError: true,
      contentText: "[]",
      structuredText: '{"error":"no such folder","hint":"use /srv"}',
    },
  });
});

test.each([
  ['{"content":"text"}', "content is no list"],
  ['{"resultType":"task","taskId":"t1","status":"working"}', "was not asked for: task"],
  ["[]", "no object"],
])("a result that is none, %s, is unreadable", async (resultText, cause) => {
  const server = await ledgerServer({ faults: [{ kind: "result", resultText }] });
  const outcome = await mcpSource(server.url).call(attempt());
  expect(outcome).toMatchObject({ kind: "unreadable", cause: expect.stringContaining(cause) });
});

test("a question of the server is inputRequired, with its state [semantics 7.4]", async () => {
  const requests = '{"ok":{"method":"elicitation/create","params":{"message":"Sure?"}}}';
  const resultText = `{"resultType":"input_required","inputRequests":${requests},"requestState":"s-1"}`;
  const server = await ledgerServer({ faults: [{ kind: "result", resultText }] });
  expect(await mcpSource(server.url).call(attempt())).toEqual({
    kind: "inputRequired",
    requestsText: requests,
    requestState: "s-1",
  });
});

test.each([true, false])(
  "an answer beyond the bound is tooLarge and not read to its end, stream: %s",
  async (stream) => {
    const resultText = JSON.stringify({ content: [{ type: "text", text: "x".repeat(2_000_000) }] });
    const server = await ledgerServer({ stream, faults: [{ kind: "result", resultText }] });
    const source = mcpSource(server.url, { responseBytesMax: 100_000 });
    expect(await source.call(attempt())).toEqual({ kind: "tooLarge" });
    expect(await source.call(attempt({ meta: {} }))).toMatchObject({ kind: "answered" });
  },
);

describe("streams", () => {
  test.each(["modern", "legacy"] as const)("%s: progress is reported while the call goes on", async (eras) => {
    const server = await ledgerServer({ eras, faults: [{ kind: "progress", count: 3, everyMs: 5 }] });
    const steps: unknown[] = [];
    const outcome = await mcpSource(server.url).call(attempt({ onProgress: (step) => steps.push(step) }));
    expect(outcome).toMatchObject({ kind: "answered" });
    expect(steps).toEqual([1, 2, 3].map((step) => ({ progress: step, total: 3, message: `step ${step}` })));
  });

  test("no progress is asked for when nobody listens", async () => {
    const server = await ledgerServer();
    await mcpSource(server.url).call(attempt());
    expect(server.seen.lastMeta["progressToken"]).toBeUndefined();
  });

  test("a lost stream whose events have ids is resumed, and nothing is sent twice [semantics 5.3]", async () => {
    const server = await ledgerServer({
      eras: "legacy",
      sessions: true,
      faults: [{ kind: "endStream", eventId: "e-1" }],
    });
    expect(await mcpSource(server.url).call(attempt())).toEqual(structured('{"effect":1,"arguments":{"value":1}}'));
    expect(server.seen.methods["tools/call"]).toBe(1);
  });

  test("questions of an older server are answered: ping with a result, the others with -32601", async () => {
    const ask = (id: number, method: string) => `data: {"jsonrpc":"2.0","id":${id},"method":"${method}"}\n\n`;
    const body = `${ask(1, "ping")}${ask(2, "elicitation/create")}${ask(3, "roots/list")}`;
    const server = await ledgerServer({
      eras: "legacy",
      faults: [{ kind: "raw", contentType: "text/event-stream", body }],
    });
    await mcpSource(server.url).call(attempt());
    await until(() => server.seen.clientAnswers.length === 3);
    const byId = [...server.seen.clientAnswers].sort((a, b) => Number(a["id"]) - Number(b["id"]));
    expect(byId).toEqual([
      { jsonrpc: "2.0", id: 1, result: {} },
      { jsonrpc: "2.0", id: 2, error: { code: -32601, message: "Not supported by this client" } },
      { jsonrpc: "2.0", id: 3, error: { code: -32601, message: "Not supported by this client" } },
    ]);
  });
});
