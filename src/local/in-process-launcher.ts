import type { Launcher, LaunchTarget } from "../controller/launcher.ts";
import type { Dispatcher } from "../dispatcher/dispatcher.ts";

/** Starts the one dispatcher of a Toolset. */
export type DispatcherStarter = (target: LaunchTarget) => Promise<Dispatcher>;

/**
 * A launcher whose dispatchers run in this process: one a Toolset however many are asked for, since more would share its
 * one thread anyway. Changes of one Toolset are carried out one after another.
 */
export class InProcessLauncher implements Launcher {
  readonly #start: DispatcherStarter;
  readonly #dispatchers = new Map<number, Dispatcher>();
  readonly #wanted = new Map<number, boolean>();
  readonly #changes = new Map<number, Promise<void>>();
  #closed = false;

  constructor(start: DispatcherStarter) {
    this.#start = start;
  }

  scale(toolset: LaunchTarget, replicas: number): Promise<void> {
    const { toolsetId } = toolset;
    this.#wanted.set(toolsetId, replicas > 0);
    const before = this.#changes.get(toolsetId) ?? Promise.resolve();
    const change = before.catch(() => {}).then(() => this.#bringAbout(toolset));
    this.#changes.set(toolsetId, change);
    return change;
  }

  async #bringAbout(toolset: LaunchTarget): Promise<void> {
    const { toolsetId } = toolset;
    const wanted = this.#wanted.get(toolsetId) === true && !this.#closed;
    const running = this.#dispatchers.get(toolsetId);
    if (wanted && running === undefined) this.#dispatchers.set(toolsetId, await this.#start(toolset));
    if (wanted || running === undefined) return;
    this.#dispatchers.delete(toolsetId);
    await running.close();
  }

  running(toolsetId: number): number {
    return this.#wanted.get(toolsetId) === true ? 1 : 0;
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.allSettled(this.#changes.values());
    const running = [...this.#dispatchers.values()];
    this.#dispatchers.clear();
    this.#wanted.clear();
    await Promise.allSettled(running.map((dispatcher) => dispatcher.close()));
  }
}
