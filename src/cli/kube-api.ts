import type { KubeConfig } from "@kubernetes/client-node";
import { HoldpointError } from "../base/errors.ts";
import { type Json, type JsonObject, parseExact, stringifyExact } from "../base/exact-json.ts";
import { ApiConnection, loadKubeConfig } from "../kube/connection.ts";

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

/** The API server as a plugin sees it: as the kubeconfig's user, each refusal in the server's own words. */
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
 * Reads the kubeconfig (`--kubeconfig`, the pod's own account, `KUBECONFIG`, `~/.kube/config`).
 * @throws KubeApiError when there is none or it lacks the context
 */
export function openKubeApi(options: KubeApiOptions): KubeApi {
  const config = loadConfig(options);
  const connection = new ApiConnection(config);
  return {
    namespace: options.namespace ?? config.getContextObject(config.getCurrentContext())?.namespace ?? "default",
    request: (request) => send(connection, request, impersonation(options)),
  };
}

function loadConfig({ kubeconfig, context }: KubeApiOptions): KubeConfig {
  const source = kubeconfig === undefined ? {} : { kubeconfig };
  try {
    return loadKubeConfig(context === undefined ? source : { ...source, context });
  } catch (error) {
    throw new KubeApiError(0, error instanceof HoldpointError ? error.message : messageOf(error));
  }
}

function impersonation({ as, asGroup = [] }: KubeApiOptions): Record<string, string | string[]> {
  return {
    ...(as === undefined ? {} : { "impersonate-user": as }),
    ...(asGroup.length === 0 ? {} : { "impersonate-group": [...asGroup] }),
  };
}

async function send(
  connection: ApiConnection,
  { method, path, body, contentType = "application/json" }: KubeRequest,
  extraHeaders: Record<string, string | string[]>,
): Promise<JsonObject> {
  let status: number;
  let text: string;
  try {
    const { origin, basePath, headers, dispatcher } = await connection.current();
    const response = await dispatcher.request({
      origin,
      path: basePath + path,
      method,
      headers: {
        ...headers,
        ...extraHeaders,
        accept: "application/json",
        "user-agent": "kubectl-holdpoint",
        ...(body === undefined ? {} : { "content-type": contentType }),
      },
      body: body === undefined ? null : stringifyExact(body),
      signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
    });
    status = response.statusCode;
    text = await response.body.text();
  } catch (error) {
    throw new KubeApiError(0, `the API server cannot be reached: ${messageOf(error)}`);
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

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message || (error as { code?: string }).code || error.name : String(error);
}
