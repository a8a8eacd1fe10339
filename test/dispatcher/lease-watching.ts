import { setTimeout as delay } from "node:timers/promises";
import { systemClock } from "../../src/base/clock.ts";
import { createLogger } from "../../src/base/log.ts";
import { LeaseWatch } from "../../src/controller/lease-watch.ts";
import type { Rig } from "./rig.ts";

/** As the rig starts its dispatchers. */
const LEASE_MS = 2_000;
const LOOK_EVERY_MS = 500;

/** The controller's part: takes over from dispatchers that do not renew their lease. @returns stops it */
export function watchLeases(rig: Rig): () => Promise<void> {
  const watch = new LeaseWatch(rig.sql, systemClock, createLogger("test", "silent"), LEASE_MS);
  let isStopped = false;
  const loop = async () => {
    while (!isStopped) {
      // The database may be away: that is what some tests are about.
      await watch.look().catch(() => {});
      await delay(LOOK_EVERY_MS);
    }
  };
  const stopped = loop();
  return async () => {
    isStopped = true;
    await stopped;
  };
}
