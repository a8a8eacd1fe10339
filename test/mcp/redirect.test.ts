import { expect, test } from "vitest";
import { attempt, httpServer, mcpSource } from "./fixtures.ts";

interface Redirect {
  status: number;
  location: string;
}

/** A server at `/mcp/` that sends whoever asks at `/mcp` elsewhere, and the requests it saw. */
async function redirecting(redirect: Redirect): Promise<{ url: string; seen: string[] }> {
  const seen: string[] = [];
  const url = await httpServer((request, response, body) => {
    seen.push(`${request.method} ${request.url} ${request.headers["authorization"]} ${body.length > 0}`);
    if (request.url === "/mcp") {
      response.writeHead(redirect.status, { location: redirect.location }).end("moved");
      return;
    }
    const { id, method } = JSON.parse(body) as { id: number; method: string };
    const result = method === "tools/call" ? { content: [] } : { supportedVersions: ["2026-07-28"], capabilities: {} };
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ jsonrpc: "2.0", id, result }));
  });
  return { url, seen };
}

const headers = { authorization: "Bearer planted-7f3a" };

test.each([307, 308])(
  "%i to the same origin is followed with method, body and credential [case a11]",
  async (status) => {
    const { url, seen } = await redirecting({ status, location: "/mcp/" });
    expect(await mcpSource(url, { headers }).call(attempt())).toMatchObject({ kind: "answered" });
    const hop = ["POST /mcp Bearer planted-7f3a true", "POST /mcp/ Bearer planted-7f3a true"];
    expect(seen).toEqual([...hop, ...hop]);
  },
);

test("every other redirect is refused before the call is sent, and its target named [case a11]", async () => {
  const other = await redirecting({ status: 307, location: "/mcp/" });
  const origin = new URL(other.url).origin;
  for (const [status, location, shown] of [
    [301, "/mcp/", ""],
    [302, "/mcp/", ""],
    [303, "/mcp/", ""],
    [307, `${origin}/mcp/?token=planted-7f3a`, `${origin}/mcp/`],
    [308, "https://user:planted-7f3a@other.example.com/mcp", "https://other.example.com/mcp"],
  ] as const) {
    const { url, seen } = await redirecting({ status, location });
    const source = mcpSource(url, { headers });
    const target = shown === "" ? `${url}/` : shown;
    const cause = `${url} redirects (${status}) to ${target}, which is not followed: set the server's url to where it really is`;
    expect(await source.call(attempt())).toEqual({ kind: "notSent", cause });
    await expect(source.list(AbortSignal.timeout(5_000))).rejects.toMatchObject({
      code: "ServerUnreachable",
      message: `${url}: ${cause}`,
    });
    expect(seen.every((line) => line.startsWith("POST /mcp "))).toBe(true);
  }
  expect(other.seen).toEqual([]);
});

test("redirects that go in a circle are given up", async () => {
  const { url } = await redirecting({ status: 307, location: "/mcp" });
  expect(await mcpSource(url).call(attempt())).toEqual({
    kind: "notSent",
    cause: `${url} redirects more than 5 times`,
  });
});
