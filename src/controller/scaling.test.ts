import { expect, test } from "vitest";
import type { Demand } from "../journal/demand.ts";
import { replicasWanted, scalingSettings } from "./scaling.ts";

const settings = { replicasMax: 5, runsPerReplica: 200, idleAfterMs: 60_000 };
const demand = (changes: Partial<Demand>): Demand => ({
  toolsetId: 1,
  namespace: "n",
  name: "t",
  claimable: 0,
  held: 0,
  pinWished: false,
  ...changes,
});

test.each<[string, Demand | undefined, number, number, number]>([
  ["nothing to do and nothing running: none", undefined, 0, 0, 0],
  ["a run waits: one", demand({ claimable: 1 }), 0, 0, 1],
  ["a pin is wished: one", demand({ pinWished: true }), 0, 0, 1],
  ["401 runs: three of 200 each", demand({ claimable: 401 }), 0, 0, 3],
  ["never more than allowed", demand({ claimable: 99_999 }), 0, 0, 5],
  ["idle for a moment: it stays", undefined, 1, 59_999, 1],
  ["idle for idleAfter: it goes", undefined, 1, 60_000, 0],
  ["a timer is due within idleAfter: it stays", demand({ nextInMs: 59_000 }), 1, 999_999, 1],
  ["a timer is due in 40 days: none", demand({ nextInMs: 40 * 86_400_000 }), 1, 60_000, 0],
  ["a timer is due soon and none runs: one is started in time", demand({ nextInMs: 30_000 }), 0, 999_999, 1],
  ["runs are held: none of those that run is taken away", demand({ held: 1 }), 3, 0, 3],
])("%s [journal: demand]", (_name, asked, running, idleForMs, wanted) => {
  expect(replicasWanted(asked, running, idleForMs, settings)).toBe(wanted);
});

test("settings are the spec's, else the documented ones", () => {
  expect(scalingSettings(undefined)).toEqual(settings);
  expect(
    scalingSettings({ servers: [], dispatcher: { idleAfter: "5s", maxReplicas: 2, runsPerReplica: 1_000 } }),
  ).toEqual({ replicasMax: 2, runsPerReplica: 1_000, idleAfterMs: 5_000 });
});
