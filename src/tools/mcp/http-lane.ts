import type { IncomingHttpHeaders } from "node:http";
import { type Dispatcher, Pool } from "undici";
import { guardedConnector } from "./address.ts";
import { redirectTarget, shownUrl } from "./redirect.ts";

/** One HTTP request to the server. */
export interface LaneRequest {
  readonly method: "POST" | "GET" | "DELETE";
  /** Names and values, one after another. */
  readonly headers: readonly string[];
  readonly body?: string;
  readonly signal: AbortSignal;
  /** Control messages have connections of their own, so that calls that fill all others cannot hold up their cancellation. */
  readonly control?: boolean;
}

/** Takes a response while it arrives. */
export interface ResponseReader {
  head(status: number, headers: IncomingHttpHeaders): ReaderWish;
  data(chunk: Buffer): ReaderWish;
}
/** `enough`: the rest does not matter. `stop`: the rest must not be read. */
export type ReaderWish = "more" | "enough" | "stop";

/** How an exchange ended. */
export type LaneEnd =
  /** No byte of the request was written, or the server sent it elsewhere without looking at it. */
  | { readonly kind: "notSent"; readonly cause: string }
  /** The request was written, and the response did not arrive whole. */
  | { readonly kind: "lost"; readonly cause: string }
  /** The response arrived, as far as the reader wanted it. */
  | { readonly kind: "done" };

export interface LaneOptions {
  readonly url: URL;
  /** Connections to the server at once. Each call under way holds one. */
  readonly connectionsMax: number;
  readonly connectTimeoutMs: number;
  /** PEM text of a certificate authority to trust instead of the public ones. */
  readonly certificateAuthority?: string;
}

const redirectsMax = 5;
/** How long a stream may go on after its answer came, so that its connection can be used again. */
const drainMs = 1_000;

/**
 * HTTP to one server over bounded keep-alive connections. It follows only redirects that keep origin and credential
 * safe (semantics 1.8), connects to no forbidden address, and knows of each failure whether the request was written.
 * Deadlines are the caller's, by signal.
 */
export class HttpLane {
  readonly #options: LaneOptions;
  /** By origin and purpose: the server's own, and https of the same host once it redirected there. */
  readonly #pools = new Map<string, Pool>();
  #closed = false;

  constructor(options: LaneOptions) {
    this.#options = options;
  }

  /** Makes one exchange. Never rejects. */
  async exchange(request: LaneRequest, reader: ResponseReader): Promise<LaneEnd> {
    let url = this.#options.url;
    for (let hop = 0; hop <= redirectsMax; hop++) {
      if (this.#closed) return { kind: "notSent", cause: "the connection to the server was closed" };
      if (request.signal.aborted) return { kind: "notSent", cause: abortCause(request.signal) };
      const redirect: { status?: number; location?: string } = {};
      const end = await this.#send(url, request, {
        head: (status, headers) => {
          if (status < 300 || status > 399) return reader.head(status, headers);
          redirect.status = status;
          if (headers.location !== undefined) redirect.location = headers.location;
          return "enough";
        },
        data: (chunk) => (redirect.status === undefined ? reader.data(chunk) : "enough"),
      });
      if (redirect.status === undefined) return end;
      const next = redirectTarget(url, redirect.status, redirect.location);
      if ("refused" in next) return { kind: "notSent", cause: next.refused };
      url = next.url;
    }
    return { kind: "notSent", cause: `${shownUrl(this.#options.url)} redirects more than ${redirectsMax} times` };
  }

  /** Ends all exchanges under way as lost, and refuses new ones. */
  async close(): Promise<void> {
    this.#closed = true;
    const reason = new Error("the connection to the server was closed");
    await Promise.all([...this.#pools.values()].map((pool) => pool.destroy(reason)));
  }

  #send(url: URL, request: LaneRequest, reader: ResponseReader): Promise<LaneEnd> {
    return new Promise((resolve) => {
      const exchange = new Exchange(request.signal, reader, resolve);
      this.#pool(url.origin, request.control === true).dispatch(
        {
          path: url.pathname + url.search,
          method: request.method,
          headers: [...request.headers],
          body: request.body ?? null,
        },
        exchange,
      );
    });
  }

  #pool(origin: string, control: boolean): Pool {
    const key = `${control ? "control" : "calls"} ${origin}`;
    const existing = this.#pools.get(key);
    if (existing) return existing;
    const { connectionsMax, connectTimeoutMs, certificateAuthority } = this.#options;
    const pool = new Pool(origin, {
      connections: control ? 2 : connectionsMax,
      connect: guardedConnector({
        timeoutMs: connectTimeoutMs,
        ...(certificateAuthority === undefined ? {} : { certificateAuthority }),
      }),
      headersTimeout: 0,
      bodyTimeout: 0,
      pipelining: 1,
      allowH2: false,
    });
    this.#pools.set(key, pool);
    return pool;
  }
}

/** One request on the wire: tells what was written, feeds the reader, and settles once. */
class Exchange implements Dispatcher.DispatchHandler {
  readonly #signal: AbortSignal;
  readonly #reader: ResponseReader;
  readonly #settle: (end: LaneEnd) => void;
  #controller: Dispatcher.DispatchController | undefined;
  #wish: ReaderWish = "more";
  #drainTimer: NodeJS.Timeout | undefined;
  #settled = false;
  readonly #onAbort = (): void => {
    this.#end({ kind: this.#controller ? "lost" : "notSent", cause: abortCause(this.#signal) });
    this.#controller?.abort(new Error("aborted"));
  };

  constructor(signal: AbortSignal, reader: ResponseReader, settle: (end: LaneEnd) => void) {
    this.#signal = signal;
    this.#reader = reader;
    this.#settle = settle;
    signal.addEventListener("abort", this.#onAbort, { once: true });
  }

  /** Called directly before the first byte is written, and never for a request that found no connection. */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.#settled) {
      controller.abort(new Error("aborted before it was sent"));
      return;
    }
    this.#controller = controller;
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    if (status >= 200) this.#follow(controller, this.#reader.head(status, headers));
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#wish === "more" && !this.#settled) this.#follow(controller, this.#reader.data(chunk));
  }

  onResponseEnd(): void {
    this.#end({ kind: "done" });
    clearTimeout(this.#drainTimer);
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    clearTimeout(this.#drainTimer);
    this.#end({ kind: this.#controller ? "lost" : "notSent", cause: errorCause(error) });
  }

  #follow(controller: Dispatcher.DispatchController, wish: ReaderWish): void {
    if (wish === "more") return;
    this.#wish = wish;
    this.#end({ kind: "done" });
    if (wish === "stop") {
      controller.abort(new Error("the response was not wanted any more"));
      return;
    }
    this.#drainTimer = setTimeout(() => controller.abort(new Error("the response went on")), drainMs);
    this.#drainTimer.unref();
  }

  #end(end: LaneEnd): void {
    if (this.#settled) return;
    this.#settled = true;
    this.#signal.removeEventListener("abort", this.#onAbort);
    this.#settle(end);
  }
}

/** Why a signal was aborted, in words for an outcome. */
export function abortCause(signal: AbortSignal): string {
  const reason: unknown = signal.reason;
  return reason instanceof Error && reason.name === "TimeoutError" ? "timed out" : "cancelled";
}

/** An error of the network in words: its code tells more than its message, and neither holds headers or bodies. */
function errorCause(error: Error & { code?: string; errors?: readonly Error[] }): string {
  const inner = error.errors?.[0]?.message;
  const text = error.message === "" && inner !== undefined ? inner : error.message;
  return error.code !== undefined && !text.includes(error.code) ? `${text} (${error.code})` : text;
}
