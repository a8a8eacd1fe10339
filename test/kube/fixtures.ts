import { randomBytes } from "node:crypto";
import type { KubeConfig } from "@kubernetes/client-node";
import { onTestFinished } from "vitest";
import { KubeClient, type KubeClientOptions } from "../../src/kube/client.ts";
import { loadKubeConfig } from "../../src/kube/connection.ts";
import { EventRecorder, type EventRecorderOptions } from "../../src/kube/events.ts";
import { KubeObjectStore, type KubeStoreOptions } from "../../src/kube/kube-store.ts";
import type { ReflectorProblem } from "../../src/kube/reflector.ts";
import { FaultyProxy } from "./faulty-proxy.ts";

/** Waits of tests on a real server: it may be restarting, on a busy machine. */
export const POLL = { timeout: 30_000, interval: 20 };

/** A client that is closed when the test ends. */
export function openClient(config: KubeConfig, options: KubeClientOptions = {}): KubeClient {
  const client = new KubeClient(config, options);
  onTestFinished(() => client.close());
  return client;
}

/** A new namespace. */
export async function makeNamespace(kubeconfig: string): Promise<string> {
  const client = openClient(loadKubeConfig({ kubeconfig }));
  const name = `t-${randomBytes(6).toString("hex")}`;
  const body = { apiVersion: "v1", kind: "Namespace", metadata: { name } };
  await client.request({ method: "POST", path: "/api/v1/namespaces", body });
  return name;
}

/** A proxy that is closed when the test ends. */
export async function openProxy(kubeconfig: string): Promise<FaultyProxy> {
  const proxy = await FaultyProxy.start(kubeconfig);
  onTestFinished(() => proxy.close());
  return proxy;
}

export interface OpenStore {
  readonly store: KubeObjectStore;
  readonly problems: ReflectorProblem[];
}

/** A store that is closed when the test ends. */
export function openStore(
  client: KubeClient,
  options: Partial<KubeStoreOptions> & { events?: EventRecorder; recorder?: Partial<EventRecorderOptions> } = {},
): OpenStore {
  const problems: ReflectorProblem[] = [];
  const { recorder, ...rest } = options;
  const events = new EventRecorder({ client, controller: "holdpoint.dev/test", instance: "test-1", ...recorder });
  const store = new KubeObjectStore({
    client,
    events,
    onProblem: (problem) => problems.push(problem),
    onHandlerError: () => undefined,
    ...rest,
  });
  onTestFinished(() => store.close());
  return { store, problems };
}
