import { setTimeout as sleep } from "node:timers/promises";
import { beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { loadKubeConfig } from "../../src/kube/connection.ts";
import {
  LEADER_ELECTION_TIMINGS,
  LeaderElection,
  type LeaderElectionOptions,
  type LeadershipEnd,
} from "../../src/kube/leader-election.ts";
import { resourcePath } from "../../src/kube/resources.ts";
import { type ApiServer, startApiServer } from "./api-server.ts";
import type { FaultyProxy } from "./faulty-proxy.ts";
import { makeNamespace, openClient, openProxy, POLL } from "./fixtures.ts";

/** The real ones, about fifteen times as fast. */
const TIMINGS = { leaseDurationMs: 3_000, renewDeadlineMs: 2_000, requestTimeoutMs: 600, retryPeriodMs: 100 };

let server: ApiServer;
let namespace: string;

beforeAll(async () => {
  server = await startApiServer();
  return () => server.stop();
});

beforeEach(async () => {
  namespace = await makeNamespace(server.kubeconfig);
});

interface Candidate {
  readonly election: LeaderElection;
  readonly proxy: FaultyProxy;
  /** Each beginning and end of leadership, with the time. */
  readonly history: { readonly what: "started" | LeadershipEnd; readonly atMs: number }[];
  readonly problems: unknown[];
}

/** A candidate with a proxy of its own between it and the server. */
async function stand(identity: string, options: Partial<LeaderElectionOptions> = {}): Promise<Candidate> {
  const proxy = await openProxy(server.kubeconfig);
  const history: Candidate["history"] = [];
  const problems: unknown[] = [];
  const election = new LeaderElection({
    client: openClient(proxy.config),
    namespace,
    name: "controller",
    identity,
    onStarted: (signal) => {
      history.push({ what: "started", atMs: performance.now() });
      return aborted(signal);
    },
    onStopped: (why) => history.push({ what: why, atMs: performance.now() }),
    onProblem: (error) => problems.push(error),
    timings: TIMINGS,
    ...options,
  });
  onTestFinished(() => election.stop());
  election.start();
  return { election, proxy, history, problems };
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}

async function readLease(): Promise<Record<string, unknown>> {
  const path = `${resourcePath("coordination.k8s.io/v1", "leases", namespace)}/controller`;
  const lease = await openClient(loadKubeConfig(server)).request({ method: "GET", path });
  return (lease as unknown as { spec: Record<string, unknown> }).spec;
}

const whats = ({ history }: Candidate) => history.map(({ what }) => what);

describe("leader election on a real API server", () => {
  test("of two candidates one leads; when it stops, the other leads without waiting for the lease to run out", async () => {
    const first = await stand("first");
    await expect.poll(() => first.election.leading, POLL).toBe(true);
    const second = await stand("second");
    await expect.poll(() => second.election.leader, POLL).toBe("first");
    expect(second.election.leading).toBe(false);
    expect(await readLease()).toMatchObject({ holderIdentity: "first", leaseDurationSeconds: 3, leaseTransitions: 0 });

    const stopMs = performance.now();
    await first.election.stop();
    expect(whats(first)).toEqual(["started", "released"]);
    await expect.poll(() => second.election.leading, POLL).toBe(true);
    expect((second.history[0]?.atMs ?? 0) - stopMs).toBeLessThan(2_000);
    expect(await readLease()).toMatchObject({ holderIdentity: "second" });
  });

  test("of many candidates at once exactly one leads", async () => {
    const candidates = await Promise.all(["a", "b", "c", "d", "e"].map((identity) => stand(identity)));
    await expect.poll(() => candidates.filter(({ election }) => election.leading).length, POLL).toBe(1);
    await sleep(500);
    expect(candidates.flatMap(whats)).toEqual(["started"]);
  });

  test("[case e07] answers that are all slow lose no leadership", async () => {
    const leader = await stand("first");
    await expect.poll(() => leader.election.leading, POLL).toBe(true);
    const second = await stand("second");
    leader.proxy.faultOf = () => ({ delayMs: 500 });
    second.proxy.faultOf = () => ({ delayMs: 500 });
    await sleep(6_000);
    expect(leader.election.leading).toBe(true);
    expect(whats(leader)).toEqual(["started"]);
    expect(whats(second)).toEqual([]);
    expect(leader.problems).toEqual([]);
  });

  test("[case e07] one renewal that hangs, and one that is done but not answered, are tried again in time", async () => {
    const leader = await stand("first");
    await expect.poll(() => leader.election.leading, POLL).toBe(true);
    const faults = ["hang", { delayMs: 5_000 }] as const;
    let next = 0;
    leader.proxy.faultOf = ({ method }) => (method === "PUT" ? faults[next++] : undefined);
    await expect.poll(() => next, POLL).toBeGreaterThan(4);
    expect(leader.problems).toHaveLength(2);
    expect(whats(leader)).toEqual(["started"]);
    expect(leader.election.leading).toBe(true);
  });

  test("[case e07] past the deadline leadership ends at once, though the renewal still hangs", async () => {
    // Two tries fit the deadline, the third hangs across it.
    const leader = await stand("first", { timings: { ...TIMINGS, requestTimeoutMs: 850 } });
    const renewals: number[] = [];
    let hanging = false;
    leader.proxy.faultOf = ({ method }) => {
      if (hanging) return "hang";
      if (method === "PUT") renewals.push(performance.now());
      return undefined;
    };
    await expect.poll(() => renewals.length, POLL).toBeGreaterThan(3);
    hanging = true;
    const second = await stand("second");
    await expect.poll(() => whats(leader), POLL).toEqual(["started", "deadline"]);
    expect(leader.election.leading).toBe(false);
    const afterMs = (leader.history[1]?.atMs ?? 0) - (renewals.at(-1) ?? 0);
    expect(afterMs).toBeGreaterThan(1_850);
    expect(afterMs).toBeLessThan(2_300);
    // The other one may lead only after that: the lease outlives the deadline.
    await expect.poll(() => second.election.leading, POLL).toBe(true);
    expect(second.history[0]?.atMs).toBeGreaterThan(leader.history[1]?.atMs ?? Number.POSITIVE_INFINITY);
  });

  test("who lost by the deadline stands again, and leads again when the server answers", async () => {
    const leader = await stand("first");
    await expect.poll(() => leader.election.leading, POLL).toBe(true);
    leader.proxy.faultOf = () => ({ answer: 503 });
    await expect.poll(() => whats(leader), POLL).toEqual(["started", "deadline"]);
    leader.proxy.faultOf = () => undefined;
    await expect.poll(() => whats(leader), POLL).toEqual(["started", "deadline", "started"]);
  });

  test("a leader whose lease another holds stops at once", async () => {
    const leader = await stand("first");
    await expect.poll(() => leader.election.leading, POLL).toBe(true);
    const path = `${resourcePath("coordination.k8s.io/v1", "leases", namespace)}/controller`;
    const client = openClient(loadKubeConfig(server));
    const body = { spec: { holderIdentity: "usurper", leaseDurationSeconds: 60 } };
    const startMs = performance.now();
    await client.request({ method: "PATCH", path, contentType: "application/merge-patch+json", body });
    await expect.poll(() => whats(leader), POLL).toEqual(["started", "taken"]);
    expect(performance.now() - startMs).toBeLessThan(TIMINGS.renewDeadlineMs);
    expect(await readLease()).toMatchObject({ holderIdentity: "usurper" });
  });

  test("work that fails ends leadership and gives the lease back", async () => {
    const faulty = await stand("faulty", { onStarted: () => Promise.reject(new Error("cannot start")) });
    await expect.poll(() => whats(faulty), POLL).toContain("failed");
    expect(faulty.problems).toContainEqual(new Error("cannot start"));
    await faulty.election.stop();
    expect(await readLease()).toMatchObject({ holderIdentity: "" });
  });

  test("timings that leave no room for several tries are refused", () => {
    const options = { namespace, name: "x", identity: "a", onStarted: aborted, onStopped: () => undefined };
    const withTimings = (timings: typeof TIMINGS) => () =>
      new LeaderElection({ ...options, client: openClient(loadKubeConfig(server)), timings });
    expect(withTimings({ ...TIMINGS, requestTimeoutMs: 1_500 })).toThrow(RangeError);
    expect(withTimings({ ...TIMINGS, renewDeadlineMs: 3_000 })).toThrow(RangeError);
    expect(withTimings(LEADER_ELECTION_TIMINGS)).not.toThrow();
  });

  test("[case e07] three answers of eight seconds fit the default renew deadline", () => {
    const { leaseDurationMs, renewDeadlineMs, requestTimeoutMs, retryPeriodMs } = LEADER_ELECTION_TIMINGS;
    expect(requestTimeoutMs).toBeGreaterThan(8_000);
    expect(3 * (requestTimeoutMs + retryPeriodMs * 1.1)).toBeLessThan(renewDeadlineMs);
    expect(leaseDurationMs - renewDeadlineMs).toBeGreaterThanOrEqual(requestTimeoutMs);
  });
});
