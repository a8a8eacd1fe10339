import { afterEach, beforeEach, expect, test } from "vitest";
import type { Clock } from "../../src/base/clock.ts";
import { createLogger } from "../../src/base/log.ts";
import { LeaseWatch } from "../../src/controller/lease-watch.ts";
import { listLeases, registerIncarnation, renewLease } from "../../src/journal/incarnations.ts";
import type { Sql } from "../../src/journal/sql.ts";
import { Rig } from "./rig.ts";

const LEASE_MS = 10_000;
let rig: Rig;
let nowMs = 0;
let isAway = false;
let watch: LeaseWatch;
let id = "";

beforeEach(async () => {
  rig = await Rig.open();
  await rig.toolset({ servers: [] });
  id = await registerIncarnation(rig.sql, { toolsetId: rig.toolsetId, place: "pod", leaseMs: LEASE_MS });
  nowMs = 1_000;
  isAway = false;
  const clock: Clock = { nowMs: () => nowMs, monotonicMs: () => nowMs };
  const sql: Sql = {
    ...rig.sql,
    query: async (statement, values) => {
      if (isAway) throw new Error("the database is away");
      return await rig.sql.query(statement, values);
    },
  };
  watch = new LeaseWatch(sql, clock, createLogger("test", "silent"), LEASE_MS);
});

afterEach(() => rig.close());

/** Looks at these times, as a loop does that goes on after a failed look. */
async function lookAt(...timesMs: number[]): Promise<void> {
  for (const timeMs of timesMs) {
    nowMs = timeMs;
    await watch.look().catch(() => {});
  }
}
const isAlive = async () => (await listLeases(rig.sql, rig.toolsetId)).some((lease) => lease.id === id);

test("a lease that was not renewed for a whole ttl is taken over, one that was renewed is not [journal: take over]", async () => {
  await lookAt(1_000, 3_500, 6_000, 8_500, 10_900);
  expect(await isAlive()).toBe(true);
  await renewLease(rig.sql, id, LEASE_MS);
  await lookAt(13_000, 15_500, 18_000, 20_500, 22_900);
  expect(await isAlive()).toBe(true);
  await lookAt(23_100);
  expect(await isAlive()).toBe(false);
});

test("while the database was away nobody could renew: the time before does not count [semantics 14.6]", async () => {
  await lookAt(1_000, 3_500);
  isAway = true;
  await lookAt(6_000, 8_500, 11_000);
  isAway = false;
  await lookAt(13_500, 16_000, 18_500, 21_000, 23_400);
  expect(await isAlive()).toBe(true);
  await lookAt(23_600);
  expect(await isAlive()).toBe(false);
});

test("a database that kept a look waiting kept renewals waiting as well [journal: take over]", async () => {
  await lookAt(1_000, 3_500);
  // The look of 6,000 is answered at 14,000.
  await lookAt(14_000);
  expect(await isAlive()).toBe(true);
});
