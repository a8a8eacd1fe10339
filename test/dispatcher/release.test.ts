import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { startLedgerServer } from "../mcp/ledger-server.ts";
import { Rig } from "./rig.ts";

/** Few at a time: the waits are to show what is lost, not how busy the machine is. */
const RUNS = 8;
const ROUNDS = 125;
const WAIT_MS_MAX = 2_000;
const LOOK_EVERY_MS = 10;
/** Around what a release takes: that is where a decision or a signal could be lost. */
const MOMENT_MS_MAX = 30;

/** Each round is given back twice: while its call is parked, and while it waits for its signal. */
const script = `
  import { app } from "rewind:tools";
  import { signal } from "rewind";
  export default async () => {
    for (let round = 0; round < ${ROUNDS}; round++) {
      await app.ask({ round });
      if ((await signal("go")) !== round) throw new Error("another signal than expected");
    }
    return "done";
  };`;

test("2,000 decisions and signals at random moments around a release, by two processes: none waits longer than 2 s [journal: wake-ups]", async () => {
  const server = await startLedgerServer({ tools: [{ name: "ask", inputSchema: { type: "object" } }] });
  const rig = await Rig.open();
  try {
    await rig.toolset({
      servers: [{ name: "app", url: server.url }],
      policies: [{ tools: ["app.ask"], approval: "Required" }],
    });
    rig.dispatcher();
    rig.dispatcher();
    await rig.pinned();
    const runIds = await Promise.all(Array.from({ length: RUNS }, async () => (await rig.run(script)).runId));
    await tend(rig, runIds);
    for (const runId of runIds) expect(await rig.finished(runId)).toMatchObject({ phase: "Succeeded" });
    const waits = await waitsMs(rig);
    expect(waits).toHaveLength(RUNS * ROUNDS * 2);
    // On a machine that is busy with other tests all of them are slow; one that waits far longer than the others was forgotten.
    const medianMs = waits.toSorted((left, right) => left - right)[waits.length / 2] ?? 0;
    expect(Math.max(...waits)).toBeLessThan(Math.max(WAIT_MS_MAX, 8 * medianMs));
  } finally {
    await rig.close();
    await server.close();
  }
}, 480_000);

/** Decides each parked call, and sends the signal that its script waits for next. */
async function tend(rig: Rig, runIds: readonly string[]): Promise<void> {
  const errands: Promise<void>[] = [];
  const seen = new Set<string>();
  const round = async (runId: string, holdId: string) => {
    await delay(Math.random() * MOMENT_MS_MAX);
    expect(await rig.decide(runId, holdId, "Approve")).toBe("taken");
    await delay(Math.random() * MOMENT_MS_MAX);
    await rig.signal(runId, "go", Number(holdId) - 1);
  };
  const deadlineMs = performance.now() + 420_000;
  while (seen.size < runIds.length * ROUNDS && performance.now() < deadlineMs) {
    const { rows } = await rig.sql.query<{ run_id: string; hold_id: string }>(
      "select run_id, hold_id from holdpoint.holds where decided_at is null and closed_at is null",
    );
    for (const { run_id: runId, hold_id: holdId } of rows) {
      if (seen.has(`${runId}/${holdId}`)) continue;
      seen.add(`${runId}/${holdId}`);
      errands.push(round(runId, holdId));
    }
    await delay(LOOK_EVERY_MS);
  }
  await Promise.all(errands);
}

/** From the moment at which each decision and signal was stored to the one at which its run's owner took it up. */
async function waitsMs(rig: Rig): Promise<number[]> {
  const { rows } = await rig.sql.query<{ waited: number }>(
    `select (l.at_ms - extract(epoch from h.decided_at) * 1000)::int as waited
     from holdpoint.holds h join holdpoint.log l on l.run_id = h.run_id and l.seq = h.seq and l.kind = 6
     union all
     select (l.at_ms - extract(epoch from s.received_at) * 1000)::int
     from holdpoint.signals s join holdpoint.log l on l.run_id = s.run_id and l.kind = 7 and (l.meta::json ->> 'signalNo')::bigint = s.signal_no`,
  );
  return rows.map((row) => row.waited);
}
