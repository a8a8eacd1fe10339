import { classifyFailure } from "../journal/sql.ts";
import { DISPATCHER_DEFAULTS, type DispatcherSpec } from "./dispatcher-spec.ts";
import { Incarnation } from "./incarnation.ts";
import { Lease } from "./lease.ts";
import { PinnedWorlds } from "./pinned-world.ts";
import { ToolSources } from "./tool-sources.ts";

export interface Dispatcher {
  /** Stops in order: claims nothing more, lets calls in flight end within the grace period, gives its runs back. */
  close(): Promise<void>;
}

const START_PAUSE_MS = 1_000;

/**
 * Serves one Toolset: pins it, and drives its runs. Knows nothing but the journal. A process that was marked dead by others
 * drops everything and starts again as a new incarnation.
 */
export async function startDispatcher(spec: DispatcherSpec): Promise<Dispatcher> {
  const options = { ...DISPATCHER_DEFAULTS, ...spec.options };
  const sources = new ToolSources(spec.clock);
  const worlds = new PinnedWorlds(spec.sql, spec.toolsetId, spec.attemptsMax);
  let closing = false;
  let current: Incarnation | undefined;
  const begin = async () => {
    const lease = await Lease.acquire(spec.sql, spec.clock, spec.log, {
      toolsetId: spec.toolsetId,
      place: spec.place,
      leaseMs: options.leaseMs,
    });
    spec.log.info({ toolsetId: spec.toolsetId, incarnation: lease.id }, "dispatcher holds a lease");
    current = new Incarnation({ ...spec, options, lease, sources, worlds });
    current.start();
    return current;
  };
  const served = serveForEver(await beginFirst());

  /** A database that is away is waited for; anything else is for whoever started this process to see. */
  async function beginFirst(): Promise<Incarnation> {
    for (;;) {
      try {
        return await begin();
      } catch (error) {
        if (classifyFailure(error) !== "unavailable") throw error;
        spec.log.warn({ err: error }, "no lease could be acquired; trying again");
        await pause(START_PAUSE_MS);
      }
    }
  }

  async function serveForEver(started: Incarnation): Promise<void> {
    let incarnation = started;
    while (!closing) {
      await incarnation.ended;
      if (closing) return;
      spec.log.warn(
        { incarnation: incarnation.id },
        "this dispatcher was marked dead by others; it starts again under a new identity",
      );
      incarnation = await beginAgain(incarnation);
    }
  }

  /** Tries until the database answers: a dispatcher without a lease has nothing else to do. */
  async function beginAgain(previous: Incarnation): Promise<Incarnation> {
    while (!closing) {
      try {
        return await begin();
      } catch (error) {
        spec.log.warn({ err: error }, "no lease could be acquired; trying again");
        await pause(START_PAUSE_MS);
      }
    }
    return previous;
  }

  return {
    close: async () => {
      closing = true;
      await current?.close();
      await served;
      await sources.close();
    },
  };
}

function pause(delayMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, delayMs));
}
