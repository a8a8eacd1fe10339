import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { KubeConfig } from "@kubernetes/client-node";
import type { Dispatcher } from "undici";
import { ApiConnection, loadKubeConfig } from "../../src/kube/connection.ts";

/** What the proxy does to a request instead of passing it on. */
export type Fault =
  | { readonly answer: number; readonly headers?: Record<string, string>; readonly body?: string }
  /** Passes the request on and holds the answer back. */
  | { readonly delayMs: number }
  /** Takes the request and never answers. */
  | "hang"
  /** Passes the request on and breaks the connection instead of the answer. */
  | "break"
  /** Passes it on with another path. */
  | { readonly rewrite: string };

/** A request as the proxy saw it. */
export interface SeenRequest {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  readonly isWatch: boolean;
}

/**
 * Stands between a client and a real API server and does what no API server does on demand: slow, wrong, broken and silent answers.
 * Requests without a fault reach the real server, as the user of the kubeconfig.
 */
export class FaultyProxy {
  /** Every request, in order. */
  readonly seen: SeenRequest[] = [];
  /** TCP connections that clients opened. */
  connections = 0;
  /** Decides about each request. */
  faultOf: (request: SeenRequest) => Fault | undefined = () => undefined;
  readonly #server: Server;
  readonly #upstream: ApiConnection;
  readonly #sockets = new Set<Socket>();
  readonly #watches = new Set<{ response: ServerResponse; body: Dispatcher.ResponseData["body"] }>();

  private constructor(kubeconfig: string) {
    this.#upstream = new ApiConnection(loadKubeConfig({ kubeconfig }));
    this.#server = createServer((request, response) => {
      this.#handle(request, response).catch(() => response.destroy());
    });
    this.#server.on("connection", (socket: Socket) => {
      this.connections += 1;
      this.#sockets.add(socket);
      socket.on("close", () => this.#sockets.delete(socket));
    });
  }

  static async start(kubeconfig: string): Promise<FaultyProxy> {
    const proxy = new FaultyProxy(kubeconfig);
    await new Promise<void>((resolve) => proxy.#server.listen(0, "127.0.0.1", resolve));
    return proxy;
  }

  /** A configuration that leads through the proxy. */
  get config(): KubeConfig {
    const { port } = this.#server.address() as AddressInfo;
    const config = new KubeConfig();
    const cluster = { name: "proxy", server: `http://127.0.0.1:${port}`, skipTLSVerify: true };
    config.loadFromClusterAndUser(cluster, { name: "nobody" });
    return config;
  }

  get openWatches(): number {
    return this.#watches.size;
  }

  /** Breaks the connection of every open watch. */
  cutWatches(): void {
    for (const { response } of this.#watches) response.destroy();
  }

  /** Lets every open watch stand, but passes nothing on any more: a connection whose other end is gone. */
  silenceWatches(): void {
    for (const { body, response } of this.#watches) {
      body.unpipe(response);
      body.resume();
    }
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await this.#upstream.close();
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url ?? "/";
    const seen = { method: request.method ?? "GET", path, isWatch: path.includes("watch=true") };
    this.seen.push(seen);
    const fault = this.faultOf(seen);
    if (fault === "hang") return;
    const body = await readAll(request);
    if (typeof fault === "object" && "answer" in fault) {
      response.writeHead(fault.answer, { "content-type": "application/json", ...fault.headers }).end(fault.body ?? "");
      return;
    }
    const target = typeof fault === "object" && "rewrite" in fault ? fault.rewrite : path;
    const answer = await this.#forward(request, target, body);
    if (fault === "break") {
      await answer.body.dump();
      response.destroy();
      return;
    }
    if (typeof fault === "object" && "delayMs" in fault) await sleep(fault.delayMs);
    this.#passOn(answer, response, seen.isWatch);
  }

  async #forward(request: IncomingMessage, path: string, body: Buffer): Promise<Dispatcher.ResponseData> {
    const { origin, headers, dispatcher } = await this.#upstream.current();
    const type = request.headers["content-type"];
    return dispatcher.request({
      origin,
      path,
      method: request.method as Dispatcher.HttpMethod,
      headers: { ...headers, accept: "application/json", ...(type === undefined ? {} : { "content-type": type }) },
      body: body.length === 0 ? null : body,
      bodyTimeout: 0,
    });
  }

  #passOn(answer: Dispatcher.ResponseData, response: ServerResponse, isWatch: boolean): void {
    const type = String(answer.headers["content-type"] ?? "application/json");
    response.writeHead(answer.statusCode, { "content-type": type });
    response.flushHeaders();
    answer.body.on("error", () => response.destroy());
    answer.body.pipe(response);
    const watch = { response, body: answer.body };
    if (isWatch) this.#watches.add(watch);
    response.on("close", () => {
      this.#watches.delete(watch);
      answer.body.destroy();
    });
  }
}

async function readAll(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}
