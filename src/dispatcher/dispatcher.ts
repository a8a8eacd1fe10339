import type { Clock } from "../base/clock.ts";
import type { Logger } from "../base/log.ts";
import type { Sql } from "../journal/sql.ts";
import type { SandboxPool } from "../sandbox/port.ts";
import type { ScriptChecker } from "../typecheck/checker.ts";
import { Incarnation } from "./incarnation.ts";
import { Lease } from "./lease.ts";
import { PinnedWorlds } from "./pinned-world.ts";
import { ToolSources } from "./tool-sources.ts";

export interface DispatcherOptions {
  /** How long others wait before they take over. */
  readonly leaseMs: number;
  /** Runs held in memory at once. */
  readonly runsMax: number;
  /** How often the journal is asked for work when no hint comes. */
  readonly pollMs: number;
  /** How long calls in flight may take to end at an orderly stop. */
  readonly graceMs: number;
}

export const DISPATCHER_DEFAULTS: DispatcherOptions = { leaseMs: 10_000, runsMax: 200, pollMs: 1_000, graceMs: 25_000 };

export interface DispatcherSpec {
  readonly sql: Sql;
  readonly toolsetId: number;
  /** Names the pod or the state folder: whoever starts in the same place knows that its predecessor is dead. */
  readonly place: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly sandbox: SandboxPool;
  readonly checker: ScriptChecker;
  readonly options?: Partial<DispatcherOptions>;
}

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
  const worlds = new PinnedWorlds(spec.sql, spec.toolsetId);
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
  const first = await begin();
  const served = serveForEver(first);

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
        await new Promise((resolve) => setTimeout(resolve, START_PAUSE_MS));
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
