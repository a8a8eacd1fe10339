import { beforeAll, describe, expect, test } from "vitest";
import { applyObject, ownedBy } from "../../src/kube/apply.ts";
import { loadKubeConfig } from "../../src/kube/connection.ts";
import { type ApiServer, startApiServer } from "./api-server.ts";
import { makeNamespace, openClient, openStore } from "./fixtures.ts";

const DEPLOYMENT = { apiVersion: "apps/v1", kind: "Deployment", plural: "deployments" };

let server: ApiServer;

beforeAll(async () => {
  server = await startApiServer();
  return () => server.stop();
});

describe("server-side apply", () => {
  test("[semantics 14.4] an equal manifest changes nothing, another one what differs, and others' fields stay", async () => {
    const namespace = await makeNamespace(server.kubeconfig);
    const client = openClient(loadKubeConfig(server));
    const { store } = openStore(client);
    const toolset = await store.create("Toolset", { metadata: { namespace, name: "triage" }, spec: {} });
    const manifest = (replicas: number) => ({
      metadata: { namespace, name: "dispatcher", ownerReferences: [ownedBy(toolset)] },
      spec: {
        replicas,
        selector: { matchLabels: { app: "dispatcher" } },
        template: {
          metadata: { labels: { app: "dispatcher" } },
          spec: { containers: [{ name: "dispatcher", image: "holdpoint:1" }] },
        },
      },
    });
    const first = await applyObject(client, DEPLOYMENT, manifest(0));
    expect(first).toMatchObject({ kind: "Deployment", metadata: { ownerReferences: [{ uid: toolset.metadata.uid }] } });
    const again = await applyObject(client, DEPLOYMENT, manifest(0));
    expect(again.metadata.resourceVersion).toBe(first.metadata.resourceVersion);

    const path = `/apis/apps/v1/namespaces/${namespace}/deployments/dispatcher`;
    const contentType = "application/merge-patch+json";
    const body = { spec: { replicas: 5, minReadySeconds: 7 } };
    await client.request({ method: "PATCH", path, query: { fieldManager: "somebody" }, contentType, body });
    await expect(applyObject(client, DEPLOYMENT, manifest(3), { force: false })).rejects.toMatchObject({
      reason: "Conflict",
      message: expect.stringContaining("somebody"),
    });
    const scaled = await applyObject(client, DEPLOYMENT, manifest(3));
    expect(scaled.spec).toMatchObject({ replicas: 3, minReadySeconds: 7 });
  });
});
