import { type DatabaseProxy, startDatabaseProxy } from "../dispatcher/database-proxy.ts";
import type { DispatcherProcess, Rig } from "../dispatcher/rig.ts";

/** Sends in all; the default would end calls that the faults hit more often. */
const ATTEMPTS_MAX = 1_000_000;

/** A place for one dispatcher, behind a proxy to the database of its own: started again whenever it ends. */
export class Slot {
  readonly proxy: DatabaseProxy;
  /** Whether a fault is under way here: one at a time. */
  isBusy = false;
  readonly #rig: Rig;
  readonly #name: string;
  readonly #outputs: (() => string)[] = [];
  #starts = 0;
  #place = "";
  #process: DispatcherProcess | undefined;
  #isClosed = false;

  private constructor(rig: Rig, name: string, proxy: DatabaseProxy) {
    this.#rig = rig;
    this.#name = name;
    this.proxy = proxy;
  }

  static async open(rig: Rig, name: string): Promise<Slot> {
    const slot = new Slot(rig, name, await startDatabaseProxy(rig.databaseUrl));
    slot.#start(false);
    return slot;
  }

  #start(samePlace: boolean): void {
    this.#starts += 1;
    if (!samePlace) this.#place = `${this.#name}-${this.#starts}`;
    const url = new URL(this.proxy.url);
    url.searchParams.set("application_name", this.#place);
    const started = this.#rig.dispatcher({
      place: this.#place,
      databaseUrl: url.href,
      env: { HOLDPOINT_TEST_ATTEMPTS_MAX: String(ATTEMPTS_MAX), HOLDPOINT_GRACE: "2s" },
    });
    this.#process = started;
    this.#outputs.push(started.output);
    // One that ends by itself (the database was away at its start) is started again, as Kubernetes does.
    started.child.once("exit", () => {
      if (this.#process !== started || this.#isClosed) return;
      this.#process = undefined;
      setTimeout(() => {
        if (this.#process === undefined && !this.#isClosed) this.#start(false);
      }, 500);
    });
  }

  /** Ends it, and starts another. @param samePlace whether the next knows that this one is dead */
  async restart(signal: "SIGKILL" | "SIGTERM", samePlace: boolean): Promise<void> {
    const ending = this.#process;
    this.#process = undefined;
    await ending?.kill(signal);
    this.proxy.letGo();
    this.#start(samePlace);
  }

  async signal(signal: "SIGSTOP" | "SIGCONT"): Promise<void> {
    await this.#process?.kill(signal);
  }

  /** The last lines that its processes wrote about something. */
  said(word: string, linesMax: number): string[] {
    const lines = this.#outputs.flatMap((output) => output().split("\n"));
    return lines.filter((line) => line.includes(word)).slice(-linesMax);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#process?.kill("SIGKILL");
    await this.proxy.close();
  }
}
