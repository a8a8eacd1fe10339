import { readFile } from "node:fs/promises";
import { Agent, request } from "undici";
import { parse } from "yaml";

/** What the API server answered: its status code and its body, parsed. */
export interface ApiAnswer {
  readonly code: number;
  readonly body: ApiObject;
}

/** Any object of the API, as far as tests look into it. */
export interface ApiObject {
  readonly kind?: string;
  readonly message?: string;
  readonly metadata?: Record<string, unknown>;
  readonly spec?: Record<string, unknown>;
  readonly status?: unknown;
  readonly [member: string]: unknown;
}

/** Who a request is made as, by impersonation. */
export interface Caller {
  readonly user: string;
  /** One: the HTTP client would join several into one header line, which the API server takes for one name. */
  readonly group?: string;
}

/** The account that the admission policies take for the controller. */
export const CONTROLLER: Caller = { user: "system:serviceaccount:holdpoint-system:holdpoint-controller" };

const REQUEST_TIMEOUT_MS = 30_000;

/** Plain requests to an API server, as the kubeconfig's user or as anybody that user may impersonate. */
export class ApiClient {
  readonly #server: string;
  readonly #agent: Agent;
  readonly #headers: Readonly<Record<string, string>>;

  private constructor(server: string, agent: Agent, headers: Readonly<Record<string, string>>) {
    this.#server = server;
    this.#agent = agent;
    this.#headers = headers;
  }

  /** Reads the current context of a kubeconfig with embedded certificates or a token. */
  static async fromKubeconfig(path: string): Promise<ApiClient> {
    const config = parse(await readFile(path, "utf8"));
    const context = config.contexts.find((entry: { name: string }) => entry.name === config["current-context"]).context;
    const { cluster } = config.clusters.find((entry: { name: string }) => entry.name === context.cluster);
    const { user } = config.users.find((entry: { name: string }) => entry.name === context.user);
    const pem = async (data?: string, file?: string) =>
      data === undefined ? file && (await readFile(file, "utf8")) : Buffer.from(data, "base64").toString();
    const connect = {
      ca: await pem(cluster["certificate-authority-data"], cluster["certificate-authority"]),
      cert: await pem(user["client-certificate-data"], user["client-certificate"]),
      key: await pem(user["client-key-data"], user["client-key"]),
    };
    const headers: Record<string, string> = user.token === undefined ? {} : { authorization: `Bearer ${user.token}` };
    return new ApiClient(cluster.server, new Agent({ connect }), headers);
  }

  get(path: string, as?: Caller): Promise<ApiAnswer> {
    return this.send("GET", path, undefined, "application/json", as);
  }

  post(path: string, body: unknown, as?: Caller): Promise<ApiAnswer> {
    return this.send("POST", path, body, "application/json", as);
  }

  put(path: string, body: unknown, as?: Caller): Promise<ApiAnswer> {
    return this.send("PUT", path, body, "application/json", as);
  }

  /** A merge patch (RFC 7386), as `kubectl patch --type=merge` sends it. */
  merge(path: string, body: unknown, as?: Caller): Promise<ApiAnswer> {
    return this.send("PATCH", path, body, "application/merge-patch+json", as);
  }

  /** Server-side apply. */
  apply(path: string, body: unknown, fieldManager = "tests", as?: Caller): Promise<ApiAnswer> {
    const query = `${path.includes("?") ? "&" : "?"}fieldManager=${fieldManager}&force=true`;
    return this.send("PATCH", path + query, body, "application/apply-patch+yaml", as);
  }

  delete(path: string, as?: Caller): Promise<ApiAnswer> {
    return this.send("DELETE", path, undefined, "application/json", as);
  }

  async send(method: string, path: string, body: unknown, contentType: string, as?: Caller): Promise<ApiAnswer> {
    const answer = await request(this.#server + path, {
      method: method as "GET",
      dispatcher: this.#agent,
      headers: {
        ...this.#headers,
        "content-type": contentType,
        accept: "application/json",
        ...impersonation(as),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
    });
    return { code: answer.statusCode, body: (await answer.body.json()) as ApiObject };
  }

  close(): Promise<void> {
    return this.#agent.close();
  }
}

/** The API server adds system:authenticated by itself. */
function impersonation(as: Caller | undefined): Record<string, string> {
  if (as === undefined) return {};
  return { "impersonate-user": as.user, ...(as.group === undefined ? {} : { "impersonate-group": as.group }) };
}
