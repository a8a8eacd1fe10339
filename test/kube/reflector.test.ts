import { beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { loadKubeConfig } from "../../src/kube/connection.ts";
import { Reflector, type ReflectorOptions, type ReflectorProblem } from "../../src/kube/reflector.ts";
import { collectionPath } from "../../src/kube/resources.ts";
import { type ApiServer, startApiServer } from "./api-server.ts";
import type { FaultyProxy } from "./faulty-proxy.ts";
import { makeNamespace, openClient, openProxy, openStore, POLL } from "./fixtures.ts";

let server: ApiServer;
let proxy: FaultyProxy;
let namespace: string;
/** Past the proxy. */
let direct: ReturnType<typeof openStore>["store"];

beforeAll(async () => {
  server = await startApiServer();
  return () => server.stop();
});

beforeEach(async () => {
  namespace = await makeNamespace(server.kubeconfig);
  proxy = await openProxy(server.kubeconfig);
  direct = openStore(openClient(loadKubeConfig(server))).store;
});

interface Follow {
  readonly reflector: Reflector;
  readonly told: string[];
  readonly problems: ReflectorProblem[];
}

/** Follows the test's ConfigMaps through the proxy. */
function follow(options: Partial<ReflectorOptions> = {}): Follow {
  const told: string[] = [];
  const problems: ReflectorProblem[] = [];
  const reflector = new Reflector({
    client: openClient(proxy.config),
    collection: { path: collectionPath("ConfigMap", namespace), apiVersion: "v1", kind: "ConfigMap" },
    onChange: (key) => told.push(key.name),
    onProblem: (problem) => problems.push(problem),
    retry: { firstMs: 20, maxMs: 200, factor: 2 },
    ...options,
  });
  onTestFinished(() => reflector.close());
  reflector.start();
  return { reflector, told, problems };
}

const make = (name: string) => direct.create("ConfigMap", { metadata: { namespace, name }, data: {} });
const lists = () => proxy.seen.filter((request) => !request.isWatch);
const watches = () => proxy.seen.filter((request) => request.isWatch);

describe("a reflector behind a faulty network", () => {
  test("a list of several pages is one state, and asks for each page once", async () => {
    for (const name of ["a", "b", "c", "d", "e"]) await make(name);
    const { reflector, told } = follow({ pageSize: 2 });
    await reflector.ready(10_000);
    expect(told.toSorted()).toEqual(["a", "b", "c", "d", "e"]);
    expect(lists()).toHaveLength(3);
  });

  test("a continuation that expired starts the list over", async () => {
    for (const name of ["a", "b", "c"]) await make(name);
    let expired = false;
    proxy.faultOf = ({ path }) => {
      if (expired || !path.includes("continue=")) return undefined;
      expired = true;
      return { answer: 410, body: statusOf(410, "Expired", "The provided continue parameter is too old") };
    };
    const { reflector, told, problems } = follow({ pageSize: 2 });
    await reflector.ready(10_000);
    expect(told.toSorted()).toEqual(["a", "b", "c"]);
    expect(lists()).toHaveLength(4);
    expect(problems).toEqual([]);
  });

  test("a page too large for the client's bound is asked for again in smaller ones", async () => {
    const data = { text: "x".repeat(20_000) };
    for (const name of ["a", "b", "c", "d"]) await direct.create("ConfigMap", { metadata: { namespace, name }, data });
    const { reflector } = follow({ client: openClient(proxy.config, { responseBytesMax: 50_000 }) });
    await reflector.ready(10_000);
    expect([...reflector.all()]).toHaveLength(4);
  });

  test("a watch that is cut is resumed at the version it had, without a list", async () => {
    await make("a");
    const { reflector, told } = follow();
    await reflector.ready(10_000);
    for (const name of ["b", "c", "d"]) {
      await expect.poll(() => proxy.openWatches, POLL).toBe(1);
      proxy.cutWatches();
      await make(name);
      await expect.poll(() => told.at(-1), POLL).toBe(name);
    }
    expect(told).toEqual(["a", "b", "c", "d"]);
    expect(lists()).toHaveLength(1);
  });

  test("a watch that went silent is given up and resumed", async () => {
    const { reflector, told, problems } = follow({ idleTimeoutMs: 1_000 });
    await reflector.ready(10_000);
    await expect.poll(() => proxy.openWatches, POLL).toBe(1);
    proxy.silenceWatches();
    await make("unheard");
    await expect.poll(() => told, POLL).toEqual(["unheard"]);
    expect(problems.map((problem) => problem.during)).toContain("watch");
    expect(lists()).toHaveLength(1);
  });

  test("a version that the server no longer knows costs one list, which tells only what differs", async () => {
    // A server remembers what happened since it started: older versions are "too old" to it.
    await server.restart();
    await expect.poll(() => direct.list("ConfigMap", namespace).catch(() => undefined), POLL).toEqual([]);
    await make("same");
    await make("removed");
    const { reflector, told, problems } = follow();
    await reflector.ready(10_000);
    const same = reflector.get({ namespace, name: "same" });
    await expect.poll(() => proxy.openWatches, POLL).toBe(1);
    told.length = 0;
    // The real server's own answer to a version of long ago.
    let aged = false;
    proxy.faultOf = ({ path, isWatch }) => {
      if (!isWatch || aged) return undefined;
      aged = true;
      return { rewrite: path.replace(/resourceVersion=\d+/, "resourceVersion=1") };
    };
    proxy.cutWatches();
    await direct.delete("ConfigMap", { namespace, name: "removed" });
    await make("new");
    await expect.poll(() => told.toSorted(), POLL).toEqual(["new", "removed"]);
    expect(problems.map(({ error }) => (error as { httpStatus?: number }).httpStatus)).toContain(410);
    expect(lists()).toHaveLength(2);
    expect(reflector.get({ namespace, name: "same" })).toBe(same);
    expect(reflector.get({ namespace, name: "removed" })).toBeUndefined();
  });

  test("a watch that is answered with 410 at once relists too", async () => {
    let left = 1;
    proxy.faultOf = ({ isWatch }) =>
      isWatch && left-- > 0 ? { answer: 410, body: statusOf(410, "Gone", "too old resource version") } : undefined;
    const { reflector, told } = follow();
    await reflector.ready(10_000);
    await expect.poll(() => lists().length, POLL).toBe(2);
    await make("a");
    await expect.poll(() => told, POLL).toEqual(["a"]);
  });

  test("429 is tried again when the server says, 500 after growing pauses, and both end well", async () => {
    let left = 5;
    proxy.faultOf = () => {
      left -= 1;
      if (left === 4)
        return { answer: 429, headers: { "retry-after": "1" }, body: statusOf(429, "TooManyRequests", "slow down") };
      return left >= 0 ? { answer: 500, body: statusOf(500, "InternalError", "etcd is away") } : undefined;
    };
    const startMs = performance.now();
    const { reflector, problems } = follow();
    await reflector.ready(20_000);
    expect(performance.now() - startMs).toBeGreaterThanOrEqual(1_000);
    expect(problems).toHaveLength(4);
    expect(problems[0]).toMatchObject({ during: "list", error: { reason: "Unavailable", httpStatus: 500 } });
    expect(problems[0]?.error).toHaveProperty("message", expect.stringContaining("etcd is away"));
    const pausesMs = problems.map((problem) => problem.retryAfterMs);
    expect(Math.max(...pausesMs)).toBeLessThanOrEqual(200);
    expect(pausesMs[3]).toBeGreaterThan(pausesMs[0] ?? 0);
  });

  test("a server that closes every watch at once is not stormed", async () => {
    const { reflector } = follow({ retry: { firstMs: 200, maxMs: 400, factor: 2 } });
    proxy.faultOf = ({ isWatch }) => (isWatch ? { answer: 200, body: "" } : undefined);
    await reflector.ready(10_000);
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    expect(watches().length).toBeGreaterThan(1);
    expect(watches().length).toBeLessThan(16);
  });

  test("a half line before the cut, and a line that is no event, lose and invent nothing", async () => {
    const garbage = ['{"type":"ADDED","object":{"metadata":{"na', '{"type":"ADDED","object":{}}\n', "<html>\n"];
    proxy.faultOf = ({ isWatch }) => {
      const body = isWatch ? garbage.shift() : undefined;
      return body === undefined ? undefined : { answer: 200, body };
    };
    const { reflector, told } = follow();
    await reflector.ready(10_000);
    await expect.poll(() => proxy.openWatches, POLL).toBe(1);
    await make("a");
    await expect.poll(() => told, POLL).toEqual(["a"]);
    expect([...reflector.all()]).toHaveLength(1);
  });

  test("ready gives up at its deadline with the server's reason, and again after close", async () => {
    proxy.faultOf = () => ({ answer: 403, body: statusOf(403, "Forbidden", "may not list configmaps") });
    const { reflector } = follow();
    await expect(reflector.ready(500)).rejects.toMatchObject({
      reason: "Refused",
      message: expect.stringContaining("may not list configmaps"),
    });
    await reflector.close();
    await expect(reflector.ready(500)).rejects.toMatchObject({ name: "ObjectStoreError" });
  });

  test("close ends a watch that hangs, at once", async () => {
    const { reflector } = follow();
    await reflector.ready(10_000);
    await expect.poll(() => proxy.openWatches, POLL).toBe(1);
    proxy.silenceWatches();
    const startMs = performance.now();
    await reflector.close();
    expect(performance.now() - startMs).toBeLessThan(2_000);
    await expect.poll(() => proxy.openWatches, POLL).toBe(0);
  });
});

function statusOf(code: number, reason: string, message: string): string {
  return JSON.stringify({ kind: "Status", apiVersion: "v1", status: "Failure", code, reason, message });
}
