import { beforeAll, describe, expect, test } from "vitest";
import { loadKubeConfig } from "../../src/kube/connection.ts";
import { objectPath } from "../../src/kube/resources.ts";
import type { StoredObject } from "../../src/objects/store.ts";
import { describeObjectStore } from "../objects/object-store.suite.ts";
import { type ApiServer, startApiServer } from "./api-server.ts";
import { makeNamespace, openClient, openStore, POLL } from "./fixtures.ts";

let server: ApiServer;

beforeAll(async () => {
  server = await startApiServer();
  return () => server.stop();
});

describe("the Kubernetes store as an ObjectStore", () => {
  describeObjectStore(async () => {
    const client = openClient(loadKubeConfig(server));
    const { store } = openStore(client);
    return {
      store,
      namespace: await makeNamespace(server.kubeconfig),
      setSpec: async (key, spec) => {
        const path = objectPath("Run", key);
        await client.request({ method: "PATCH", path, contentType: "application/merge-patch+json", body: { spec } });
        return (await store.read("Run", key)) as StoredObject;
      },
    };
  });
});

describe("the Kubernetes store on a real API server", () => {
  test("lists and watches more objects than a page holds", async () => {
    const namespace = await makeNamespace(server.kubeconfig);
    const { store } = openStore(openClient(loadKubeConfig(server)));
    const count = 1_203;
    await makeConfigMaps(store, namespace, count);
    expect(await store.list("ConfigMap", namespace)).toHaveLength(count);
    const told = new Set<string>();
    const cache = await store.watch("ConfigMap", (key) => {
      if (key.namespace === namespace) told.add(key.name);
    });
    expect(told.size).toBe(count);
    expect([...cache.all()].filter((map) => map.metadata.namespace === namespace)).toHaveLength(count);
  });

  test("a watch goes on after the API server was restarted, and what happened meanwhile is told", async () => {
    const namespace = await makeNamespace(server.kubeconfig);
    const { store, problems } = openStore(openClient(loadKubeConfig(server)), {
      reflector: { retry: { firstMs: 100, maxMs: 1_000, factor: 2 } },
    });
    const told: string[] = [];
    const cache = await store.watch("Toolset", (key) => {
      if (key.namespace === namespace) told.push(key.name);
    });
    await store.create("Toolset", { metadata: { namespace, name: "before" }, spec: {} });
    await expect.poll(() => told, POLL).toEqual(["before"]);
    const before = cache.get({ namespace, name: "before" });
    await server.restart();
    const { store: other } = openStore(openClient(loadKubeConfig(server)));
    const create = () =>
      other.create("Toolset", { metadata: { namespace, name: "after" }, spec: {} }).catch(() => undefined);
    await expect.poll(create, POLL).toBeDefined();
    await expect.poll(() => cache.get({ namespace, name: "after" }), POLL).toBeDefined();
    expect(problems.length).toBeGreaterThan(0);
    expect(cache.get({ namespace, name: "before" })).toBe(before);
    expect(told).toEqual(["before", "after"]);
  });

  test("the cache holds no managed fields and no copy of the manifest", async () => {
    const namespace = await makeNamespace(server.kubeconfig);
    const { store } = openStore(openClient(loadKubeConfig(server)));
    const annotations = { "kubectl.kubernetes.io/last-applied-configuration": "{}", kept: "yes" };
    const key = { namespace, name: "m" };
    await store.create("ConfigMap", { metadata: { ...key, annotations }, data: { a: "1" } });
    const cache = await store.watch("ConfigMap", () => undefined);
    expect(cache.get(key)?.metadata.annotations).toEqual({ kept: "yes" });
    expect(cache.get(key)?.metadata).not.toHaveProperty("managedFields");
  });

  test("what admission or schema refuses is Refused with the server's message, and Namespaces have no namespace", async () => {
    const namespace = await makeNamespace(server.kubeconfig);
    const { store } = openStore(openClient(loadKubeConfig(server)));
    const bad = store.create("Run", { metadata: { namespace, name: "r" }, spec: { toolset: { name: 7 } } });
    await expect(bad).rejects.toMatchObject({
      reason: "Refused",
      httpStatus: 422,
      message: expect.stringContaining("spec.toolset.name"),
    });
    const absent = store.create("Run", {
      metadata: { namespace: "absent", name: "r" },
      spec: { toolset: { name: "t" } },
    });
    await expect(absent).rejects.toMatchObject({ reason: "NotFound" });
    const read = await store.read("Namespace", { namespace: "", name: namespace });
    expect(read).toMatchObject({ kind: "Namespace", metadata: { namespace: "", name: namespace } });
  });

  test("[semantics 14.4] an equal status costs no request at all", async () => {
    const namespace = await makeNamespace(server.kubeconfig);
    const { store } = openStore(openClient(loadKubeConfig(server)));
    const run = await store.create("Run", { metadata: { namespace, name: "r" }, spec: { toolset: { name: "t" } } });
    const written = await store.writeStatus("Run", run, { phase: "Running" });
    const { store: unreachable } = openStore(openClient(loadKubeConfig(server), { timeoutMs: 1 }));
    expect(await unreachable.writeStatus("Run", written, { phase: "Running" })).toBe(written);
    expect(await unreachable.patchMetadata("Run", written, { annotations: { absent: null } })).toBe(written);
  });
});

describe("events", () => {
  test("a repeated event is one object with a count, written as the object's own", async () => {
    const namespace = await makeNamespace(server.kubeconfig);
    const client = openClient(loadKubeConfig(server));
    const { store } = openStore(client, { recorder: { repeatMs: 50 } });
    const run = await store.create("Run", { metadata: { namespace, name: "r" }, spec: { toolset: { name: "t" } } });
    const parked = { type: "Normal", reason: "Parked", message: "call 7 waits for approval" } as const;
    const events = async () =>
      (
        (await client.request({
          method: "GET",
          path: `/apis/events.k8s.io/v1/namespaces/${namespace}/events`,
        })) as unknown as {
          items: { note: string; series?: { count: number } }[];
        }
      ).items;
    store.emit("Run", run, parked);
    await expect.poll(events, POLL).toHaveLength(1);
    store.emit("Run", run, parked);
    store.emit("Run", run, parked);
    await expect.poll(async () => (await events())[0]?.series?.count, POLL).toBe(3);
    expect(await events()).toMatchObject([
      {
        type: "Normal",
        reason: "Parked",
        note: parked.message,
        reportingController: "holdpoint.dev/test",
        regarding: { kind: "Run", name: "r", uid: run.metadata.uid },
      },
    ]);
  });

  test("an object that emits without end is cut off, and closing writes what waits", async () => {
    const namespace = await makeNamespace(server.kubeconfig);
    const client = openClient(loadKubeConfig(server));
    const dropped: string[] = [];
    const { store } = openStore(client, { recorder: { onDropped: (why) => dropped.push(why) } });
    const run = await store.create("Run", { metadata: { namespace, name: "r" }, spec: { toolset: { name: "t" } } });
    for (let call = 0; call < 200; call++)
      store.emit("Run", run, { type: "Warning", reason: "Odd", message: `call ${call}` });
    await store.close();
    expect(dropped).toEqual(Array(175).fill("rate"));
    const path = `/apis/events.k8s.io/v1/namespaces/${namespace}/events`;
    const list = (await client.request({ method: "GET", path })) as unknown as { items: unknown[] };
    expect(list.items).toHaveLength(25);
  });
});

async function makeConfigMaps(
  store: ReturnType<typeof openStore>["store"],
  namespace: string,
  count: number,
): Promise<void> {
  const names = Array.from({ length: count }, (_, index) => `m-${index}`);
  const workers = Array.from({ length: 16 }, async () => {
    for (let name = names.pop(); name !== undefined; name = names.pop())
      await store.create("ConfigMap", { metadata: { namespace, name }, data: { a: "1" } });
  });
  await Promise.all(workers);
}
