/**
 * Starts and stops the dispatchers of a Toolset: child processes, one process for all in `holdpoint dev`, later a Deployment.
 * A dispatcher learns all it needs from the journal, so a launcher passes only where that is and which Toolset it serves.
 */
export interface Launcher {
  /** Brings the number of running dispatchers of a Toolset to `replicas`. Those taken away drain first. Idempotent. */
  scale(toolset: LaunchTarget, replicas: number): Promise<void>;
  /** How many are running or starting now. */
  running(toolsetId: number): number;
  /** Stops all of them in order and waits, with a deadline. */
  close(): Promise<void>;
}

export interface LaunchTarget {
  readonly toolsetId: number;
  readonly namespace: string;
  readonly name: string;
}
