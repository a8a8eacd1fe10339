import { createHash } from "node:crypto";
import type { RequestOptions } from "node:https";
import { KubeConfig } from "@kubernetes/client-node";
import { Agent, type Dispatcher, ProxyAgent } from "undici";
import { HoldpointError } from "../base/errors.ts";
import { systemTimers, type Timers } from "../objects/timers.ts";

/** Where the configuration comes from. Without a file: the pod's service account, else `KUBECONFIG`, else `~/.kube/config`. */
export interface KubeConfigSource {
  readonly kubeconfig?: string;
  readonly context?: string;
}

/**
 * Reads the configuration as kubectl does, `proxy-url` included.
 * @throws HoldpointError `InvalidOptions` that never quotes the file: it holds credentials
 */
export function loadKubeConfig(source: KubeConfigSource = {}): KubeConfig {
  const config = new KubeConfig();
  try {
    if (source.kubeconfig !== undefined) config.loadFromFile(source.kubeconfig);
    else if (process.env["KUBERNETES_SERVICE_HOST"] && !process.env["KUBECONFIG"]) config.loadFromCluster();
    else config.loadFromDefault();
  } catch (error) {
    // A parser's message quotes the lines around the fault; its `reason` does not.
    const { reason, code } = error as { reason?: unknown; code?: unknown };
    throw invalidOptions(
      `the kubeconfig ${source.kubeconfig ?? ""} cannot be read: ${reason ?? code ?? "bad content"}`,
    );
  }
  if (source.context !== undefined) config.setCurrentContext(source.context);
  const cluster = config.getCurrentCluster();
  if (cluster === null)
    throw invalidOptions(`the kubeconfig has no cluster for context "${config.getCurrentContext()}"`);
  if (cluster.proxyUrl !== undefined && !/^https?:/.test(cluster.proxyUrl))
    throw invalidOptions("the kubeconfig's proxy-url must be http or https");
  return config;
}

/** What a request needs: the URL's origin and first path, headers that authenticate, and the pooled connections. */
export interface ConnectionState {
  readonly origin: string;
  /** The path of the server's URL without a slash at its end, as behind a proxy that serves many clusters. */
  readonly basePath: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly dispatcher: Dispatcher;
}

/** Credentials are looked at again after this time, so that a rotated token or certificate is used without a restart. */
const FRESH_MS = 10_000;
const CONNECTIONS_MAX = 64;
const CONNECT_TIMEOUT_MS = 10_000;

interface Material {
  readonly headers: Readonly<Record<string, string>>;
  readonly tls: TlsOptions;
}

type TlsOptions = Pick<
  RequestOptions,
  "ca" | "cert" | "key" | "pfx" | "passphrase" | "rejectUnauthorized" | "servername"
>;

/**
 * The connections to one API server: one pool for all requests, made anew only when the certificates change. HTTP/2 is off: a
 * half-open connection would stop every request and watch at once.
 */
export class ApiConnection {
  readonly #config: KubeConfig;
  readonly #timers: Timers;
  #state: { readonly promise: Promise<ConnectionState>; readonly readAtMs: number } | undefined;
  #pool: { readonly id: string; readonly dispatcher: Dispatcher } | undefined;

  constructor(config: KubeConfig, timers: Timers = systemTimers) {
    this.#config = config;
    this.#timers = timers;
  }

  /** The state to send a request with, at most some seconds old. */
  current(): Promise<ConnectionState> {
    const nowMs = this.#timers.monotonicMs();
    if (this.#state === undefined || nowMs - this.#state.readAtMs > FRESH_MS) {
      const promise = this.#read();
      this.#state = { promise, readAtMs: nowMs };
      promise.catch(() => this.forget());
    }
    return this.#state.promise;
  }

  /** Makes the next request read the credentials anew: the server did not take them. */
  forget(): void {
    this.#state = undefined;
  }

  /** Ends every connection at once. */
  async close(): Promise<void> {
    await this.#pool?.dispatcher.destroy();
  }

  async #read(): Promise<ConnectionState> {
    const url = new URL(this.#config.getCurrentCluster()?.server ?? "");
    const { headers, tls } = await this.#material();
    return { origin: url.origin, basePath: url.pathname.replace(/\/+$/, ""), headers, dispatcher: this.#poolFor(tls) };
  }

  async #material(): Promise<Material> {
    const options: RequestOptions = {};
    await this.#config.applyToHTTPSOptions(options);
    const { ca, cert, key, pfx, passphrase, rejectUnauthorized, servername } = options;
    const headers: Record<string, string> = {};
    for (const [name, value] of Object.entries(options.headers ?? {})) headers[name.toLowerCase()] = String(value);
    if (typeof options.auth === "string")
      headers["authorization"] = `Basic ${Buffer.from(options.auth).toString("base64")}`;
    const given = Object.entries({ ca, cert, key, pfx, passphrase, rejectUnauthorized, servername });
    return { headers, tls: Object.fromEntries(given.filter(([, value]) => value !== undefined)) as TlsOptions };
  }

  #poolFor(tls: TlsOptions): Dispatcher {
    const proxyUrl = this.#config.getCurrentCluster()?.proxyUrl;
    const id = createHash("sha256")
      .update(fingerprint({ ...tls, proxyUrl }))
      .digest("hex");
    if (this.#pool?.id === id) return this.#pool.dispatcher;
    // Requests under way on the old certificate come to their end; watches resume on the new pool when theirs ends.
    void this.#pool?.dispatcher.close();
    const dispatcher = createDispatcher(tls, proxyUrl);
    this.#pool = { id, dispatcher };
    return dispatcher;
  }
}

function createDispatcher(tls: TlsOptions, proxyUrl: string | undefined): Dispatcher {
  const socket = { ...tls, keepAlive: true, keepAliveInitialDelay: 30_000, timeout: CONNECT_TIMEOUT_MS } as object;
  const limits = { connections: CONNECTIONS_MAX, keepAliveTimeout: 30_000, allowH2: false };
  if (proxyUrl === undefined) return new Agent({ ...limits, connect: socket });
  return new ProxyAgent({ ...limits, uri: proxyUrl, requestTls: socket });
}

function fingerprint(values: Readonly<Record<string, unknown>>): string {
  return JSON.stringify(values, (_key, value: unknown) =>
    value instanceof Uint8Array ? Buffer.from(value).toString("hex") : value,
  );
}

function invalidOptions(message: string): HoldpointError {
  return new HoldpointError("InvalidOptions", message);
}
