import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { loadKubeConfig } from "../../src/kube/connection.ts";
import { type ApiServer, startApiServer } from "./api-server.ts";
import type { FaultyProxy } from "./faulty-proxy.ts";
import { openClient, openProxy } from "./fixtures.ts";

let server: ApiServer;
let proxy: FaultyProxy;

beforeAll(async () => {
  server = await startApiServer();
  return () => server.stop();
});

beforeEach(async () => {
  proxy = await openProxy(server.kubeconfig);
});

const VERSION = { method: "GET", path: "/version" } as const;
const CREATE = { method: "POST", path: "/api/v1/namespaces", body: {} } as const;

describe("the client of the Kubernetes API", () => {
  test("two hundred requests share a few connections", async () => {
    const client = openClient(proxy.config);
    for (let round = 0; round < 50; round++) await Promise.all([1, 2, 3, 4].map(() => client.request(VERSION)));
    expect(proxy.seen).toHaveLength(200);
    expect(proxy.connections).toBeLessThanOrEqual(16);
  });

  test("a request that hangs ends at its time-out, one that is cancelled at once", async () => {
    proxy.faultOf = () => "hang";
    const client = openClient(proxy.config);
    const startMs = performance.now();
    await expect(client.request({ ...VERSION, timeoutMs: 300 })).rejects.toMatchObject({
      reason: "Unavailable",
      message: "GET /version: no answer in 300 ms",
    });
    expect(performance.now() - startMs).toBeLessThan(2_000);
    const abort = new AbortController();
    const cancelled = client.request({ ...VERSION, signal: abort.signal });
    abort.abort();
    await expect(cancelled).rejects.toMatchObject({ message: "GET /version: cancelled" });
  });

  test("a GET is tried again after a broken connection, a write is not: it may have been done", async () => {
    let left = 2;
    proxy.faultOf = () => (left-- > 0 ? "break" : undefined);
    const client = openClient(proxy.config);
    expect(await client.request(VERSION)).toHaveProperty("gitVersion");
    expect(proxy.seen).toHaveLength(3);
    left = 1;
    await expect(client.request(CREATE)).rejects.toMatchObject({ reason: "Unavailable", httpStatus: undefined });
    expect(proxy.seen).toHaveLength(4);
  });

  test("429 is waited for, a write too: it was certainly not done", async () => {
    let left = 1;
    proxy.faultOf = () => (left-- > 0 ? { answer: 429, headers: { "retry-after": "1" } } : undefined);
    const client = openClient(proxy.config);
    const startMs = performance.now();
    await expect(client.request(CREATE)).rejects.toMatchObject({ reason: "Refused", httpStatus: 422 });
    expect(performance.now() - startMs).toBeGreaterThanOrEqual(990);
    expect(proxy.seen).toHaveLength(2);
  });

  test("a Retry-After beyond the time-out is not waited for", async () => {
    proxy.faultOf = () => ({ answer: 429, headers: { "retry-after": "600" } });
    const startMs = performance.now();
    const refused = openClient(proxy.config).request({ ...VERSION, timeoutMs: 5_000 });
    await expect(refused).rejects.toMatchObject({ reason: "Unavailable", httpStatus: 429 });
    expect(performance.now() - startMs).toBeLessThan(3_000);
  });

  test("credentials that were refused are read anew, once", async () => {
    proxy.faultOf = () => ({ answer: 401 });
    await expect(openClient(proxy.config).request(VERSION)).rejects.toMatchObject({
      reason: "Refused",
      httpStatus: 401,
    });
    expect(proxy.seen).toHaveLength(2);
  });

  test("an answer larger than the bound is refused, not kept", async () => {
    const client = openClient(proxy.config, { responseBytesMax: 100 });
    await expect(client.request(VERSION)).rejects.toMatchObject({
      message: expect.stringContaining("larger than 100"),
    });
  });

  test("answers of something in between keep their status and say no more", async () => {
    proxy.faultOf = () => ({ answer: 502, body: "<html>bad gateway</html>" });
    await expect(openClient(proxy.config).request(VERSION)).rejects.toMatchObject({
      reason: "Unavailable",
      httpStatus: 502,
      message: "GET /version: the server answered 502",
    });
  });
});

describe("the kubeconfig", () => {
  test("proxy-url is honoured", async () => {
    const tunnels: string[] = [];
    const tunnel = createServer().on("connect", (request, socket, head) => {
      tunnels.push(request.url ?? "");
      const { hostname, port } = new URL(`http://${request.url}`);
      const upstream = connect(Number(port), hostname, () => {
        socket.write("HTTP/1.1 200 OK\r\n\r\n");
        upstream.write(head);
        upstream.pipe(socket).pipe(upstream);
      });
      socket.on("error", () => upstream.destroy());
      upstream.on("error", () => socket.destroy());
    });
    await new Promise<void>((resolve) => tunnel.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void tunnel.close());
    const config = loadKubeConfig(server);
    const cluster = config.getCurrentCluster();
    if (cluster !== null)
      config.clusters = [{ ...cluster, proxyUrl: `http://127.0.0.1:${(tunnel.address() as AddressInfo).port}` }];
    expect(await openClient(config).request(VERSION)).toHaveProperty("gitVersion");
    expect(tunnels).toEqual([new URL(cluster?.server ?? "").host]);
  });

  test("[semantics 8.3] a file that cannot be read is named, and nothing of it is quoted", async () => {
    const folder = await mkdtemp(join(tmpdir(), "holdpoint-kubeconfig-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    const kubeconfig = join(folder, "config");
    await writeFile(kubeconfig, "users:\n- name: a\n  user: {token: planted-7f3a\n  : [");
    const read = (): unknown => loadKubeConfig({ kubeconfig });
    expect(read).toThrow(/kubeconfig .*config cannot be read/);
    expect(read).not.toThrow(/planted/);
    expect(() => loadKubeConfig({ kubeconfig: join(folder, "absent") })).toThrow(/ENOENT/);
    expect(() => loadKubeConfig({ kubeconfig: server.kubeconfig, context: "absent" })).toThrow(
      /no cluster for context/,
    );
  });
});
