/** Measures the CPU time of the thread it runs on, against a budget. Waiting for a busy machine costs a script nothing. */
export class ThreadTimer {
  #startedCpuMs = 0;
  #startedWallMs = 0;
  #budgetMs = Number.POSITIVE_INFINITY;

  /** Begins to count. @param budgetMs what may be used */
  start(budgetMs: number): void {
    this.#startedCpuMs = threadCpuMs();
    this.#startedWallMs = performance.now();
    this.#budgetMs = budgetMs;
  }

  /** Whether the budget is used up. Cheap while little time has passed: no CPU time is longer than the wall's. */
  isOver(): boolean {
    return performance.now() - this.#startedWallMs > this.#budgetMs && this.elapsedMs() > this.#budgetMs;
  }

  elapsedMs(): number {
    return threadCpuMs() - this.#startedCpuMs;
  }
}

/** CPU time of the calling thread since it began, in milliseconds. */
export function threadCpuMs(): number {
  const used = process.threadCpuUsage();
  return (used.user + used.system) / 1_000;
}
