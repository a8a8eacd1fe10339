import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { expect, test, vi } from "vitest";
import { freePorts } from "../servers/watched-server.ts";
import { foundTool } from "./build-tools.ts";
import { startControlPlane } from "./control-plane.ts";

vi.mock("../servers/watched-server.ts", async (original) => {
  const real = await original<typeof import("../servers/watched-server.ts")>();
  return { ...real, freePorts: vi.fn(real.freePorts) };
});

const START_TIMEOUT_MS = 240_000;
const say = (line: string) => void process.stderr.write(`${line}\n`);

test("a port that somebody took meanwhile, of etcd or the API server, is not the end", {
  timeout: START_TIMEOUT_MS,
}, async () => {
  const programs = { etcd: await foundTool("etcd", say), apiServer: await foundTool("kube-apiserver", say) };
  const [client = 0, peer = 0, secure = 0] = await freePorts(3);
  const somebody = createServer((socket) => socket.destroy());
  await once(somebody.listen(0, "127.0.0.1"), "listening");
  const taken = (somebody.address() as AddressInfo).port;
  vi.mocked(freePorts)
    .mockClear()
    .mockResolvedValueOnce([taken, peer, secure])
    .mockResolvedValueOnce([client, peer, taken]);
  const plane = await startControlPlane(programs);
  expect(vi.mocked(freePorts)).toHaveBeenCalledTimes(3);
  await plane.stop();
  somebody.close();
});
