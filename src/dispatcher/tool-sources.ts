import type { Clock } from "../base/clock.ts";
import { createMcpSource } from "../tools/mcp/source.ts";
import type { ToolSource } from "../tools/port.ts";
import type { PinnedServer } from "../toolset/pin.ts";

/** The connections to servers, one each, shared by all runs of the process (semantics 4.5). */
export class ToolSources {
  readonly #clock: Clock;
  readonly #sources = new Map<string, ToolSource>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The source of a server as a pin or a spec describes it; two that are described alike share one. */
  get(server: PinnedServer): ToolSource {
    const key = JSON.stringify([server.url, server.protocol, server.headers]);
    const known = this.#sources.get(key);
    if (known) return known;
    const source = createMcpSource({
      url: server.url,
      protocol: server.protocol as "Auto",
      headers: server.headers,
      clock: this.#clock,
    });
    this.#sources.set(key, source);
    return source;
  }

  async close(): Promise<void> {
    await Promise.allSettled([...this.#sources.values()].map((source) => source.close()));
    this.#sources.clear();
  }
}
