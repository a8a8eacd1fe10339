import { setTimeout as delay } from "node:timers/promises";
import { type PlannedFault, STATEMENTS } from "./fault-plan.ts";
import type { Slot } from "./slot.ts";
import type { World } from "./world.ts";

/** How long a statement is waited for that a fault is meant for. */
const STATEMENT_WAIT_MS = 5_000;

/** Makes the faults of a plan happen, and counts those that did. */
export class Injector {
  readonly counts = new Map<string, number>();
  readonly #world: World;
  readonly #underWay = new Set<Promise<void>>();
  #isPostgresBusy = false;
  #isServerBusy = false;

  constructor(world: World) {
    this.#world = world;
  }

  /** Faults that took place. */
  get total(): number {
    return [...this.counts.values()].reduce((sum, count) => sum + count, 0) - this.#world.server.unusedFaults;
  }

  /** Begins a fault; several may be under way, but one at most in each dispatcher. */
  begin(fault: PlannedFault): void {
    const happening = this.#happen(fault).finally(() => this.#underWay.delete(happening));
    this.#underWay.add(happening);
  }

  async #happen(fault: PlannedFault): Promise<void> {
    switch (fault.kind) {
      case "server": {
        const { fault: meant, releaseAfterMs } = fault;
        this.#world.server.tell({
          kind: "fault",
          fault: meant,
          ...(releaseAfterMs === undefined ? {} : { releaseAfterMs }),
        });
        return this.#count(`server: ${fault.name}`);
      }
      case "server-restart":
        return await this.#restartServer(fault.downMs);
      case "postgres-restart":
        return await this.#restartPostgres(fault.downMs);
      default:
        return await this.#hitDispatcher(fault);
    }
  }

  async #restartServer(downMs: number): Promise<void> {
    if (this.#isServerBusy) return;
    this.#isServerBusy = true;
    await this.#world.server.heal();
    await this.#world.server.kill();
    await delay(downMs);
    await this.#world.server.start();
    this.#isServerBusy = false;
    this.#count("server: killed and started");
  }

  async #restartPostgres(downMs: number): Promise<void> {
    if (this.#isPostgresBusy) return;
    this.#isPostgresBusy = true;
    await this.#world.postgres.stop("immediate");
    await delay(downMs);
    await this.#world.postgres.start();
    this.#isPostgresBusy = false;
    this.#count("postgres: restarted in immediate mode");
  }

  async #hitDispatcher(fault: PlannedFault): Promise<void> {
    const free = this.#world.slots.filter((slot) => !slot.isBusy);
    const slot = free[fault.slot % free.length];
    if (!slot) return;
    slot.isBusy = true;
    try {
      await this.#hit(slot, fault);
    } finally {
      slot.isBusy = false;
    }
  }

  async #hit(slot: Slot, fault: PlannedFault): Promise<void> {
    switch (fault.kind) {
      case "cut-after":
        slot.proxy.cutAfter(STATEMENTS[fault.statement]);
        if (await rises(slot.proxy.cuts)) this.#count(`connection cut after: ${fault.statement}`);
        return;
      case "slow-statement":
        slot.proxy.delayNext(STATEMENTS[fault.statement], fault.ms);
        if (await rises(slot.proxy.delays)) this.#count(`late statement: ${fault.statement}`);
        return;
      case "cut-all":
        slot.proxy.cut();
        return this.#count("all connections cut");
      case "stall":
        slot.proxy.holdRequests();
        await delay(fault.ms);
        slot.proxy.letGo();
        return this.#count("database silent");
      case "stall-kill":
        slot.proxy.holdRequests();
        await delay(fault.ms);
        await slot.restart("SIGKILL", fault.samePlace);
        return this.#count("database silent, then SIGKILL");
      case "kill":
        await slot.restart("SIGKILL", fault.samePlace);
        return this.#count(fault.samePlace ? "SIGKILL, same place" : "SIGKILL, other place");
      case "terminate":
        await slot.restart("SIGTERM", false);
        return this.#count("SIGTERM");
      case "freeze":
        await slot.signal("SIGSTOP");
        await delay(fault.ms);
        await slot.signal("SIGCONT");
        return this.#count("SIGSTOP, SIGCONT");
    }
  }

  #count(what: string): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + 1);
  }

  /** Waits for the faults under way, and takes back what has not met anything yet. */
  async heal(): Promise<void> {
    await Promise.all(this.#underWay);
    await this.#world.server.heal();
    for (const slot of this.#world.slots) slot.proxy.letGo();
  }
}

async function rises(count: () => number): Promise<boolean> {
  const before = count();
  for (let waitedMs = 0; waitedMs < STATEMENT_WAIT_MS && count() === before; waitedMs += 20) await delay(20);
  return count() > before;
}
