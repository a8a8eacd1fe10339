import type { Json } from "../base/exact-json.ts";
import { ObjectStoreError } from "../objects/store.ts";
import { pause, systemTimers, type Timers } from "../objects/timers.ts";
import type { KubeClient } from "./client.ts";
import { resourcePath } from "./resources.ts";

export interface LeaderElectionOptions {
  readonly client: KubeClient;
  /** Where the Lease stands, and what it is called. */
  readonly namespace: string;
  readonly name: string;
  /** Who this candidate is: unique for each process (the pod's name and something random). */
  readonly identity: string;
  /**
   * Leadership began. The work goes on until the signal aborts; the next candidacy waits until the returned promise is settled.
   * A rejection ends leadership and releases the lease.
   */
  readonly onStarted: (signal: AbortSignal) => Promise<void>;
  /** Leadership ended, at this moment; the signal has aborted. */
  readonly onStopped: (why: LeadershipEnd) => void;
  /** A try failed, or a callback did; it goes on by itself. Must not throw. */
  readonly onProblem?: (error: unknown) => void;
  readonly timings?: LeaderElectionTimings;
  readonly timers?: Timers;
  readonly random?: () => number;
}

export type LeadershipEnd = "deadline" | "taken" | "released" | "failed";

/** All in milliseconds: `requestTimeoutMs` and several times it < `renewDeadlineMs` < `leaseDurationMs`. */
export interface LeaderElectionTimings {
  /** How long others wait after the last renewal they saw. */
  readonly leaseDurationMs: number;
  /** How long the leader goes on after its last renewal that succeeded, counted from when that was sent. */
  readonly renewDeadlineMs: number;
  /** How long one request may take. */
  readonly requestTimeoutMs: number;
  /** The pause between tries. */
  readonly retryPeriodMs: number;
}

/**
 * Chosen for an API server that answers everything after 8 s: one request fits its time-out, and three of them, with the pauses
 * between, fit the renew deadline. A crashed leader is replaced after 45 s, one that shuts down at once.
 */
export const LEADER_ELECTION_TIMINGS: LeaderElectionTimings = {
  leaseDurationMs: 45_000,
  renewDeadlineMs: 35_000,
  requestTimeoutMs: 9_500,
  retryPeriodMs: 1_500,
};

interface LeaseSpec {
  readonly holderIdentity?: string | null;
  readonly leaseDurationSeconds?: number | null;
  readonly acquireTime?: string | null;
  readonly renewTime?: string | null;
  readonly leaseTransitions?: number | null;
}

interface Lease {
  readonly metadata: { readonly name: string; readonly namespace: string; readonly resourceVersion?: string };
  readonly spec: LeaseSpec;
}

/**
 * One candidate for the leadership that a Lease stands for, after client-go's algorithm. Whether a lease has run out is judged by how
 * long this process has seen it unchanged, on its own monotonic clock: the times in it are for people. The leader stops by a timer at its
 * renew deadline, whatever its requests are doing.
 */
export class LeaderElection {
  readonly #options: LeaderElectionOptions & { readonly timers: Timers; readonly random: () => number };
  readonly #timings: LeaderElectionTimings;
  readonly #stop = new AbortController();
  /** The lease as last seen, and when it was first seen so. */
  #observed: { readonly lease: Lease; readonly sinceMs: number } | undefined;
  #renewedAtMs = Number.NEGATIVE_INFINITY;
  #leading = false;
  #ended: Promise<void> = Promise.resolve();

  constructor(options: LeaderElectionOptions) {
    this.#options = { timers: systemTimers, random: Math.random, ...options };
    this.#timings = options.timings ?? LEADER_ELECTION_TIMINGS;
    const { leaseDurationMs, renewDeadlineMs, requestTimeoutMs, retryPeriodMs } = this.#timings;
    if (!(renewDeadlineMs < leaseDurationMs && 2 * (requestTimeoutMs + retryPeriodMs) < renewDeadlineMs))
      throw new RangeError("the renew deadline must be shorter than the lease, and have room for at least two tries");
  }

  /** Whether this process leads at this moment, by the clock, even if the timer that says so is late. */
  get leading(): boolean {
    return this.#leading && this.#options.timers.monotonicMs() < this.#renewedAtMs + this.#timings.renewDeadlineMs;
  }

  /** The identity in the lease as last seen; undefined before that, and while nobody holds it. */
  get leader(): string | undefined {
    return this.#observed?.lease.spec.holderIdentity || undefined;
  }

  /** Begins to stand as a candidate, and again after each loss, until `stop`. */
  start(): void {
    this.#ended = this.#run();
  }

  /** Ends leadership and candidacy, and gives the lease back once the work has ended, so that another need not wait for it to run out. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#ended;
  }

  async #run(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      const acquired = await this.#try(this.#stop.signal);
      if (acquired === "held") await this.#lead();
      else await this.#pauseBetweenTries(this.#stop.signal);
    }
  }

  /** Leads until the deadline passes, somebody else has the lease, the work ends or `stop`. */
  async #lead(): Promise<void> {
    const term = new AbortController();
    const ended = Promise.withResolvers<LeadershipEnd>();
    const release = (): void => ended.resolve("released");
    this.#stop.signal.addEventListener("abort", release, { once: true });
    this.#leading = true;
    const work = this.#work(term.signal).then(
      () => ended.resolve("released"),
      (error: unknown) => {
        this.#options.onProblem?.(error);
        ended.resolve("failed");
      },
    );
    const renewing = this.#renew(term.signal, ended.resolve);
    const why = await ended.promise;
    this.#leading = false;
    term.abort();
    this.#stop.signal.removeEventListener("abort", release);
    this.#tellStopped(why);
    await Promise.all([work, renewing]);
    if (why === "released" || why === "failed") await this.#release();
    await this.#pauseBetweenTries(this.#stop.signal);
  }

  #tellStopped(why: LeadershipEnd): void {
    try {
      this.#options.onStopped(why);
    } catch (error) {
      this.#options.onProblem?.(error);
    }
  }

  async #work(signal: AbortSignal): Promise<void> {
    await this.#options.onStarted(signal);
  }

  async #renew(signal: AbortSignal, end: (why: LeadershipEnd) => void): Promise<void> {
    const { timers } = this.#options;
    let cancelDeadline = (): void => undefined;
    const armDeadline = (): void => {
      cancelDeadline();
      const restMs = this.#renewedAtMs + this.#timings.renewDeadlineMs - timers.monotonicMs();
      cancelDeadline = timers.after(Math.max(0, restMs), () => end("deadline"));
    };
    armDeadline();
    while (!signal.aborted) {
      await this.#pauseBetweenTries(signal);
      if (signal.aborted) break;
      const result = await this.#try(signal);
      if (signal.aborted) break;
      if (result === "held") armDeadline();
      if (result === "other") end("taken");
    }
    cancelDeadline();
  }

  /** Tries once to take or renew the lease. A failed request is not a loss: the deadline decides. */
  async #try(signal: AbortSignal): Promise<"held" | "other" | "failed"> {
    try {
      // The leader writes on the version it knows, in one request; only when that is not the newest does it look.
      if (this.#leading && this.#observed !== undefined && (await this.#write(this.#observed.lease, signal)))
        return "held";
      const lease = await this.#read(signal);
      this.#observe(lease);
      if (!this.#mayTake(lease)) return "other";
      return (await this.#write(lease, signal)) ? "held" : "failed";
    } catch (error) {
      if (!signal.aborted) this.#options.onProblem?.(error);
      return "failed";
    }
  }

  #mayTake(lease: Lease | undefined): boolean {
    const holder = lease?.spec.holderIdentity;
    if (lease === undefined || !holder || holder === this.#options.identity) return true;
    const durationMs = (lease.spec.leaseDurationSeconds ?? 0) * 1_000 || this.#timings.leaseDurationMs;
    const sinceMs = this.#observed?.sinceMs ?? this.#options.timers.monotonicMs();
    return this.#options.timers.monotonicMs() >= sinceMs + durationMs;
  }

  #observe(lease: Lease | undefined): void {
    if (lease === undefined) {
      this.#observed = undefined;
      return;
    }
    if (this.#observed?.lease.metadata.resourceVersion === lease.metadata.resourceVersion) return;
    this.#observed = { lease, sinceMs: this.#options.timers.monotonicMs() };
  }

  async #read(signal: AbortSignal): Promise<Lease | undefined> {
    try {
      return leaseOf(await this.#request({ method: "GET", signal }));
    } catch (error) {
      if (error instanceof ObjectStoreError && error.reason === "NotFound") return undefined;
      throw error;
    }
  }

  /** @returns false when another was faster */
  async #write(current: Lease | undefined, signal: AbortSignal): Promise<boolean> {
    const sentAtMs = this.#options.timers.monotonicMs();
    try {
      const answer = await this.#request({
        method: current === undefined ? "POST" : "PUT",
        body: this.#leaseBody(current, this.#options.identity),
        signal,
      });
      this.#observe(leaseOf(answer));
      // Others count from when they see the renewal, which is after this moment.
      this.#renewedAtMs = sentAtMs;
      return true;
    } catch (error) {
      const faster = error instanceof ObjectStoreError && ["Conflict", "Exists", "NotFound"].includes(error.reason);
      if (faster) return false;
      throw error;
    }
  }

  /** Best effort, with one request's time-out: without it the others wait for the lease to run out. */
  async #release(): Promise<void> {
    const lease = this.#observed?.lease;
    if (lease === undefined || lease.spec.holderIdentity !== this.#options.identity) return;
    try {
      this.#observe(leaseOf(await this.#request({ method: "PUT", body: this.#leaseBody(lease, "") })));
    } catch (error) {
      this.#options.onProblem?.(error);
    }
  }

  #leaseBody(current: Lease | undefined, holderIdentity: string): unknown {
    const { namespace, name } = this.#options;
    const now = new Date(this.#options.timers.nowMs()).toISOString().replace(/Z$/, "000Z");
    const renewal = current?.spec.holderIdentity === holderIdentity;
    const transitions = current?.spec.leaseTransitions ?? 0;
    const spec = {
      holderIdentity,
      // The API counts whole seconds of at least one: a released lease runs out at once.
      leaseDurationSeconds: holderIdentity === "" ? 1 : Math.ceil(this.#timings.leaseDurationMs / 1_000),
      acquireTime: renewal ? (current?.spec.acquireTime ?? now) : now,
      renewTime: now,
      leaseTransitions: renewal || current === undefined ? transitions : transitions + 1,
    };
    const metadata = current?.metadata ?? { namespace, name };
    return { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata, spec };
  }

  #request(request: { method: "GET" | "POST" | "PUT"; body?: unknown; signal?: AbortSignal }): Promise<Json> {
    const { client, namespace, name } = this.#options;
    const collection = resourcePath("coordination.k8s.io/v1", "leases", namespace);
    const path = request.method === "POST" ? collection : `${collection}/${encodeURIComponent(name)}`;
    return client.request({ ...request, path, timeoutMs: this.#timings.requestTimeoutMs });
  }

  /** A tenth of jitter, so that candidates do not meet again and again. */
  #pauseBetweenTries(signal: AbortSignal): Promise<void> {
    const { timers, random } = this.#options;
    return pause(timers, this.#timings.retryPeriodMs * (1 + random() / 10), signal);
  }
}

function leaseOf(answer: Json): Lease {
  const { metadata, spec } = answer as unknown as Partial<Lease>;
  if (typeof metadata?.resourceVersion !== "string")
    throw new ObjectStoreError("Unavailable", "the answer is no Lease");
  const { managedFields: _managedFields, ...kept } = metadata as Lease["metadata"] & { managedFields?: unknown };
  return { metadata: kept, spec: spec ?? {} };
}
