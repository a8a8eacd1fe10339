import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { parse } from "yaml";
import { KubeClient } from "../../src/kube/client.ts";
import { loadKubeConfig } from "../../src/kube/connection.ts";
import { builtTool, type ToolName } from "../cluster/build-tools.ts";
import { startControlPlane } from "../cluster/control-plane.ts";
import { until } from "../servers/watched-server.ts";

/** A real API server with its etcd, for one test file, with Holdpoint's kinds: these tests stop it and start it again. */
export interface ApiServer {
  /** The file of a kubeconfig that may do everything. */
  readonly kubeconfig: string;
  /** Kills the API server and starts it again on the same etcd; does not wait until it answers. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

const ESTABLISHED_TIMEOUT_MS = 60_000;

/** Starts etcd and kube-apiserver, from the folder in `KUBEBUILDER_ASSETS` or as built from source. */
export async function startApiServer(): Promise<ApiServer> {
  const server = await startControlPlane({ etcd: await program("etcd"), apiServer: await program("kube-apiserver") });
  try {
    await installCrds(server.kubeconfig);
  } catch (error) {
    await server.stop();
    throw error;
  }
  return server;
}

async function program(name: ToolName): Promise<string> {
  const handed = join(process.env["KUBEBUILDER_ASSETS"] ?? "", name);
  return existsSync(handed) ? handed : await builtTool(name, (line) => process.stderr.write(`${line}\n`));
}

interface Crd {
  readonly metadata: { readonly name: string };
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}

async function installCrds(kubeconfig: string): Promise<void> {
  const client = new KubeClient(loadKubeConfig({ kubeconfig }));
  const folder = join(import.meta.dirname, "../../crds");
  for (const file of await readdir(folder)) {
    const body = parse(await readFile(join(folder, file), "utf8")) as Crd;
    const path = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${body.metadata.name}`;
    const query = { fieldManager: "tests", force: true };
    await client.request({ method: "PATCH", path, query, contentType: "application/apply-patch+yaml", body });
    await until(`${path} is established`, ESTABLISHED_TIMEOUT_MS, async () => {
      const { status } = (await client.request({ method: "GET", path })) as unknown as Crd;
      return status?.conditions?.some((item) => item.type === "Established" && item.status === "True") ?? false;
    });
  }
  await client.close();
}
