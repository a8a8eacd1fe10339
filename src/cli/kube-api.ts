import { HttpMethod, KubeConfig, RequestContext } from "@kubernetes/client-node";
import { type Dispatcher, fetch } from "undici";
import { type Json, type JsonObject, parseExact, stringifyExact } from "../base/exact-json.ts";

/** Which cluster, and as whom: the flags that every kubectl command knows. */
export interface KubeApiOptions {
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly namespace?: string;
  readonly as?: string;
  readonly asGroup?: readonly string[];
}

export interface KubeRequest {
  readonly method: "GET" | "POST" | "PATCH";
  /** From `/api…` on, encoded, with its query. */
  readonly path: string;
  readonly body?: JsonObject;
  readonly contentType?: string;
}

/** The API server as a plugin sees it: one request at a time, as the kubeconfig's user. */
export interface KubeApi {
  /** `--namespace`, else that of the kubeconfig's context, else `default`. */
  readonly namespace: string;
  /** @returns the answer, integers exact. @throws KubeApiError */
  request(request: KubeRequest): Promise<JsonObject>;
}

/** The API server refused, or was not reached (`httpStatus` 0). The message is its own, as it is. */
export class KubeApiError extends Error {
  override readonly name = "KubeApiError";
  readonly httpStatus: number;

  constructor(httpStatus: number, message: string) {
    super(message);
    this.httpStatus = httpStatus;
  }
}

const REQUEST_TIMEOUT_MS = 30_000;

/**
 * Reads the kubeconfig (`--kubeconfig`, `KUBECONFIG`, `~/.kube/config`, the pod's own account), as kubectl does.
 * @throws KubeApiError when there is none or it lacks the context
 */
export function openKubeApi(options: KubeApiOptions): KubeApi {
  const config = loadConfig(options);
  const server = config.getCurrentCluster()?.server;
  if (!server) throw new KubeApiError(0, `the kubeconfig has no cluster for the context "${config.currentContext}"`);
  // One pooled connection for all requests of the command: the library would open one for each.
  let dispatcher: Dispatcher | undefined;
  return {
    namespace: options.namespace ?? config.getContextObject(config.currentContext)?.namespace ?? "default",
    request: async (request) => {
      const context = new RequestContext(`${server.replace(/\/$/, "")}${request.path}`, HttpMethod[request.method]);
      await config.applySecurityAuthentication(context);
      const made = context.getDispatcher();
      if (dispatcher === undefined) dispatcher = made;
      else if (made !== dispatcher) await made?.close();
      return await send(context, request, headersOf(request, options), dispatcher);
    },
  };
}

function loadConfig({ kubeconfig, context }: KubeApiOptions): KubeConfig {
  const config = new KubeConfig();
  try {
    if (kubeconfig === undefined) config.loadFromDefault();
    else config.loadFromFile(kubeconfig);
  } catch (error) {
    throw new KubeApiError(0, `the kubeconfig cannot be read: ${messageOf(error)}`);
  }
  if (context === undefined) return config;
  if (config.getContextObject(context) === null) {
    const known = config.getContexts().map(({ name }) => name);
    throw new KubeApiError(0, `the kubeconfig has no context "${context}"; it has: ${known.join(", ") || "none"}`);
  }
  config.setCurrentContext(context);
  return config;
}

function headersOf({ body, contentType }: KubeRequest, { as, asGroup = [] }: KubeApiOptions): [string, string][] {
  return [
    ["accept", "application/json"],
    ...(body === undefined ? [] : [["content-type", contentType ?? "application/json"] as [string, string]]),
    ...(as === undefined ? [] : [["impersonate-user", as] as [string, string]]),
    ...asGroup.map((group): [string, string] => ["impersonate-group", group]),
  ];
}

async function send(
  context: RequestContext,
  { method, body }: KubeRequest,
  headers: [string, string][],
  dispatcher: Dispatcher | undefined,
): Promise<JsonObject> {
  let status: number;
  let text: string;
  try {
    const response = await fetch(context.getUrl(), {
      method,
      headers: [...Object.entries(context.getHeaders()), ...headers],
      ...(body === undefined ? {} : { body: stringifyExact(body) }),
      ...(dispatcher === undefined ? {} : { dispatcher }),
      redirect: "error",
      signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
    });
    status = response.status;
    text = await response.text();
  } catch (error) {
    throw new KubeApiError(
      0,
      `the API server ${new URL(context.getUrl()).origin} cannot be reached: ${causeOf(error)}`,
    );
  }
  const answer = parseAnswer(text);
  if (status >= 200 && status < 300 && answer !== undefined) return answer;
  const message = answer?.["message"];
  throw new KubeApiError(status, typeof message === "string" && message !== "" ? message : `HTTP status ${status}`);
}

function parseAnswer(text: string): JsonObject | undefined {
  let value: Json;
  try {
    value = parseExact(text);
  } catch {
    return undefined;
  }
  return typeof value === "object" && value !== null && !Array.isArray(value) ? value : undefined;
}

function causeOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  return messageOf(cause ?? error);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message || (error as { code?: string }).code || error.name : String(error);
}
