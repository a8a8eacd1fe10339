import { type Clock, systemClock } from "../../base/clock.ts";
import type { AttemptOutcome, AttemptRequest, ToolListing, ToolSource } from "../port.ts";
import { callTool } from "./call.ts";
import { Connection } from "./connection.ts";
import type { ProtocolChoice } from "./handshake.ts";
import { HttpLane } from "./http-lane.ts";
import { listTools } from "./listing.ts";
import { shownUrl } from "./redirect.ts";
import { Session } from "./session.ts";

/** One MCP server and how to speak to it. */
export interface McpSourceOptions {
  /** Used exactly as written (semantics 1.8). */
  readonly url: string;
  readonly protocol?: ProtocolChoice;
  /** Sent with every request. Those of the protocol itself (`mcp-…`, `accept`, `content-type`, `host`) cannot be set. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly clock?: Clock;
  /** Connections at once, each of which a call holds while it is under way. Default 128. */
  readonly connectionsMax?: number;
  /** Default 10 s. */
  readonly connectTimeoutMs?: number;
  /** How long a whole listing may take. Default 60 s. */
  readonly listTimeoutMs?: number;
  /** The most bytes of a call's answer that are read; beyond, the outcome is `tooLarge`. Default 32 MiB. */
  readonly responseBytesMax?: number;
  /** PEM text of a certificate authority to trust instead of the public ones. */
  readonly certificateAuthority?: string;
}

/** How long `close` waits for the server to take note that its session is over. */
const closeTimeoutMs = 2_000;

/**
 * The tools of one MCP server over streamable HTTP. All runs of a dispatcher share one source per server (semantics 4.5);
 * nothing is sent before the first `list` or `call`.
 */
export function createMcpSource(options: McpSourceOptions): ToolSource {
  return new McpSource(options);
}

class McpSource implements ToolSource {
  readonly #lane: HttpLane;
  readonly #connection: Connection;
  readonly #session: Session;
  readonly #shownUrl: string;
  readonly #listTimeoutMs: number;
  readonly #responseBytesMax: number;

  constructor(options: McpSourceOptions) {
    const url = new URL(options.url);
    this.#lane = new HttpLane({
      url,
      connectionsMax: options.connectionsMax ?? 128,
      connectTimeoutMs: options.connectTimeoutMs ?? 10_000,
      ...(options.certificateAuthority === undefined ? {} : { certificateAuthority: options.certificateAuthority }),
    });
    this.#connection = new Connection(this.#lane, {
      headers: options.headers ?? {},
      clock: options.clock ?? systemClock,
    });
    this.#session = new Session(this.#connection, options.protocol ?? "Auto");
    this.#shownUrl = shownUrl(url);
    this.#listTimeoutMs = options.listTimeoutMs ?? 60_000;
    this.#responseBytesMax = options.responseBytesMax ?? 32 * 1024 * 1024;
  }

  list(signal: AbortSignal): Promise<ToolListing> {
    const deadline = AbortSignal.any([signal, AbortSignal.timeout(this.#listTimeoutMs)]);
    return listTools(this.#connection, this.#session, this.#shownUrl, deadline);
  }

  call(request: AttemptRequest): Promise<AttemptOutcome> {
    return callTool(this.#connection, this.#session, request, this.#responseBytesMax);
  }

  async close(): Promise<void> {
    const timeout = new Promise<void>((resolve) => setTimeout(resolve, closeTimeoutMs).unref());
    await Promise.race([this.#session.close(), timeout]);
    await this.#lane.close();
  }
}
