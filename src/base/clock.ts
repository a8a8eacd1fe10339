/** Time, passed in wherever logic depends on it, so that pure code never reads a clock of its own. */
export interface Clock {
  /** Milliseconds since the epoch, by this machine's wall clock. For people and records, never for deadlines. */
  nowMs(): number;
  /** Milliseconds of a clock that never jumps. Only differences mean anything. For deadlines and leases. */
  monotonicMs(): number;
}

/** The machine's own clocks. */
export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
};
