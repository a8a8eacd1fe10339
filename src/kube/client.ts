import type { Readable } from "node:stream";
import type { KubeConfig } from "@kubernetes/client-node";
import type { Dispatcher } from "undici";
import { type BackoffPolicy, backoffDelayMs } from "../base/backoff.ts";
import { type Json, parseExact, stringifyExact } from "../base/exact-json.ts";
import type { ObjectStoreError } from "../objects/store.ts";
import { pause, systemTimers, type Timers } from "../objects/timers.ts";
import { errorOfAnswer, errorOfFailure, ResponseTooLargeError } from "./api-error.ts";
import { ApiConnection } from "./connection.ts";

/** One request to the API server. */
export interface ApiRequest {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** From the API's root, with its parts encoded: `/api/v1/namespaces/agents/configmaps`. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>;
  readonly body?: unknown;
  /** The body's media type; `application/json` unless it is a patch. */
  readonly contentType?: string;
  /** From the first try to the end of the answer, waits between tries included. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

/** A request whose answer goes on for as long as the server sends. */
export interface StreamRequest extends Pick<ApiRequest, "path" | "query"> {
  readonly signal: AbortSignal;
  /** The answer fails once nothing has come for this long. */
  readonly idleTimeoutMs: number;
}

export interface KubeClientOptions {
  readonly timeoutMs?: number;
  readonly responseBytesMax?: number;
  readonly timers?: Timers;
  readonly random?: () => number;
}

const DEFAULTS = { timeoutMs: 30_000, responseBytesMax: 32 * 1024 * 1024, timers: systemTimers, random: Math.random };
const TRIES_MAX = 6;
/** A 429 without `Retry-After`, or a broken connection under a GET. */
const RETRY: BackoffPolicy = { firstMs: 200, maxMs: 5_000, factor: 2 };

interface Answer {
  readonly status: number;
  readonly retryAfterMs: number | undefined;
  readonly body: Readable;
}

/**
 * Requests to the Kubernetes API over one pool of connections. What the server certainly did not do (429, and 503 with
 * `Retry-After`) is tried again when the server says; a GET also after a broken connection; credentials that were refused are read
 * anew once. Everything ends at the request's time-out. Failures are `ObjectStoreError`s with the server's message.
 */
export class KubeClient {
  readonly #connection: ApiConnection;
  readonly #options: Required<KubeClientOptions>;

  constructor(config: KubeConfig, options: KubeClientOptions = {}) {
    this.#options = { ...DEFAULTS, ...options };
    this.#connection = new ApiConnection(config, this.#options.timers);
  }

  /** The answer's JSON; integers are exact. @throws ObjectStoreError */
  async request(request: ApiRequest): Promise<Json> {
    const what = `${request.method} ${request.path}`;
    const timeoutMs = request.timeoutMs ?? this.#options.timeoutMs;
    const deadline = this.#deadline(timeoutMs, request.signal);
    try {
      const answer = await this.#answer(request, what, deadline.signal, { timeoutMs, idleTimeoutMs: timeoutMs });
      return parseExact(await this.#readBody(what, answer.body));
    } catch (error) {
      if (!deadline.signal.aborted) throw errorOfFailure(what, error);
      throw errorOfFailure(
        what,
        request.signal?.aborted ? new Error("cancelled") : new Error(`no answer in ${timeoutMs} ms`),
      );
    } finally {
      deadline.end();
    }
  }

  /** The answer's body as it comes; destroying it ends the request. @throws ObjectStoreError */
  async stream(request: StreamRequest): Promise<Readable> {
    const what = `GET ${request.path}`;
    const limits = { timeoutMs: this.#options.timeoutMs, idleTimeoutMs: request.idleTimeoutMs };
    try {
      return (await this.#answer({ ...request, method: "GET" }, what, request.signal, limits)).body;
    } catch (error) {
      throw errorOfFailure(what, error);
    }
  }

  /** Ends every connection; requests under way fail. */
  close(): Promise<void> {
    return this.#connection.close();
  }

  /** The first answer that is a success. */
  async #answer(request: ApiRequest, what: string, signal: AbortSignal, limits: Limits): Promise<Answer> {
    const startMs = this.#options.timers.monotonicMs();
    for (let tries = 1; ; tries++) {
      const answer = await this.#send(request, signal, limits).catch((error: unknown) => errorOfFailure(what, error));
      if (!(answer instanceof Error) && answer.status < 300) return answer;
      const error = answer instanceof Error ? answer : await this.#refusal(what, answer);
      const delayMs = this.#retryDelayMs(request, answer, tries);
      const restMs = limits.timeoutMs - (this.#options.timers.monotonicMs() - startMs);
      if (delayMs === undefined || delayMs >= restMs || signal.aborted) throw error;
      await pause(this.#options.timers, delayMs, signal);
      if (signal.aborted) throw error;
    }
  }

  async #send(request: ApiRequest, signal: AbortSignal, limits: Limits): Promise<Answer> {
    const { origin, basePath, headers, dispatcher } = await this.#connection.current();
    const answer = await dispatcher.request({
      origin,
      path: `${basePath}${request.path}${queryText(request.query)}`,
      method: request.method as Dispatcher.HttpMethod,
      headers: {
        ...headers,
        accept: "application/json",
        "user-agent": "holdpoint",
        ...(request.body === undefined ? {} : { "content-type": request.contentType ?? "application/json" }),
      },
      body: request.body === undefined ? null : stringifyExact(request.body),
      signal,
      headersTimeout: limits.timeoutMs,
      bodyTimeout: limits.idleTimeoutMs,
    });
    const retryAfter = Number(answer.headers["retry-after"]);
    const retryAfterMs = Number.isFinite(retryAfter) && retryAfter >= 0 ? retryAfter * 1_000 : undefined;
    return { status: answer.statusCode, retryAfterMs, body: answer.body };
  }

  async #refusal(what: string, answer: Answer): Promise<ObjectStoreError> {
    return errorOfAnswer(what, answer.status, await this.#readBody(what, answer.body));
  }

  /** Undefined: the failure stands. */
  #retryDelayMs(request: ApiRequest, answer: Answer | Error, tries: number): number | undefined {
    if (tries >= TRIES_MAX) return undefined;
    const backoffMs = backoffDelayMs(RETRY, tries, this.#options.random());
    if (answer instanceof Error) return request.method === "GET" ? backoffMs : undefined;
    if (answer.status === 401 && tries === 1) {
      this.#connection.forget();
      return 0;
    }
    if (answer.status === 429) return answer.retryAfterMs ?? backoffMs;
    return answer.status === 503 ? answer.retryAfterMs : undefined;
  }

  async #readBody(what: string, body: Readable): Promise<string> {
    const chunks: Buffer[] = [];
    let bytes = 0;
    for await (const chunk of body as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      // Leaving the loop destroys the body, and with it the connection.
      if (bytes > this.#options.responseBytesMax)
        throw new ResponseTooLargeError(
          "Refused",
          `${what}: the answer is larger than ${this.#options.responseBytesMax} bytes`,
        );
      chunks.push(chunk);
    }
    return Buffer.concat(chunks).toString("utf8");
  }

  #deadline(timeoutMs: number, signal: AbortSignal | undefined): { signal: AbortSignal; end: () => void } {
    const controller = new AbortController();
    const abort = (): void => controller.abort();
    if (signal?.aborted) abort();
    signal?.addEventListener("abort", abort, { once: true });
    const cancel = this.#options.timers.after(timeoutMs, abort);
    const end = (): void => {
      cancel();
      signal?.removeEventListener("abort", abort);
    };
    return { signal: controller.signal, end };
  }
}

interface Limits {
  readonly timeoutMs: number;
  readonly idleTimeoutMs: number;
}

function queryText(query: ApiRequest["query"]): string {
  const given = Object.entries(query ?? {}).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value)]],
  );
  return given.length === 0 ? "" : `?${new URLSearchParams(Object.fromEntries(given))}`;
}
