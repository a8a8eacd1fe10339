import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, test } from "vitest";
import { KubeClient } from "../../src/kube/client.ts";
import { loadKubeConfig } from "../../src/kube/connection.ts";
import { until } from "../servers/watched-server.ts";
import { startApiServer } from "./api-server.ts";

async function answers(kubeconfig: string): Promise<boolean> {
  const client = new KubeClient(loadKubeConfig({ kubeconfig }), { timeoutMs: 2_000 });
  try {
    await client.request({ method: "GET", path: "/apis/holdpoint.dev/v1alpha1/runs" });
    return true;
  } catch {
    return false;
  } finally {
    await client.close();
  }
}

test("two API servers run at once, each on its own ports", async () => {
  const [left, right] = await Promise.all([startApiServer(), startApiServer()]);
  try {
    expect(await Promise.all([answers(left.kubeconfig), answers(right.kubeconfig)])).toEqual([true, true]);
    await left.stop();
    expect(await answers(right.kubeconfig)).toBe(true);
  } finally {
    await Promise.all([left.stop(), right.stop()]);
  }
}, 120_000);

test("when its owner is killed nothing is left running", async () => {
  const module = JSON.stringify(new URL("./api-server.ts", import.meta.url).href);
  const code = `import { startApiServer } from ${module}; const s = await startApiServer(); console.log(s.kubeconfig); setInterval(() => {}, 1000);`;
  const owner = spawn(process.execPath, ["--input-type=module", "-e", code], { stdio: ["ignore", "pipe", "inherit"] });
  const [line] = (await once(owner.stdout, "data")) as [Buffer];
  const kubeconfig = line.toString().trim();
  expect(await answers(kubeconfig)).toBe(true);
  owner.kill("SIGKILL");
  await until("the API server is gone", 20_000, async () => !(await answers(kubeconfig)));
}, 120_000);
