import type { WasmMachine } from "./wasm-machine.ts";
import { trackerFunction } from "./wasm-patch.ts";

interface Rejection {
  readonly promise: number;
  readonly reason: number;
}

/** The machine whose code runs now on this thread: the one function in all tables reports to it. */
let active: RejectionTracker | undefined;
const tracker = trackerFunction((context, promise, reason, isHandled) =>
  active?.$report(context, promise, reason, isHandled !== 0),
);

/** Knows which rejected promises of an instance nobody has handled so far (semantics 3.9). */
export class RejectionTracker {
  readonly #machine: WasmMachine;
  /** By the promise's bits. Promise and reason are held, so that no other object gets their place meanwhile. */
  readonly #open = new Map<bigint, Rejection>();

  /** @param tableIndex where the tracking function stands in the engine's table */
  constructor(machine: WasmMachine, tableIndex: number) {
    this.#machine = machine;
    const { table } = machine.engine;
    if (table.length <= tableIndex) table.grow(tableIndex + 1 - table.length);
    table.set(tableIndex, tracker);
  }

  /** From now on, what this thread runs is this machine's code. */
  activate(): void {
    active = this;
  }

  $report(context: number, promise: bigint, reason: bigint, isHandled: boolean): void {
    const { functions } = this.#machine.engine;
    const known = this.#open.get(promise);
    if (isHandled) {
      if (known === undefined) return;
      this.#open.delete(promise);
      this.#free(context, known);
    } else if (known === undefined) {
      const slot = functions._malloc(8);
      this.#open.set(promise, {
        promise: this.#hold(context, slot, promise),
        reason: this.#hold(context, slot, reason),
      });
      functions._free(slot);
    }
  }

  #hold(context: number, slot: number, bits: bigint): number {
    new DataView(this.#machine.engine.memory.buffer).setBigUint64(slot, BigInt.asUintN(64, bits), true);
    return this.#machine.engine.functions._QTS_DupValuePointer(context, slot);
  }

  #free(context: number, rejection: Rejection): void {
    this.#machine.engine.functions._QTS_FreeValuePointer(context, rejection.promise);
    this.#machine.engine.functions._QTS_FreeValuePointer(context, rejection.reason);
  }

  /** What `describe` says of the first unhandled reason it knows. Those it does not know are forgotten. */
  firstUnhandled(describe: (reason: number) => string | undefined): string | undefined {
    let first: string | undefined;
    for (const [bits, rejection] of this.#open) {
      const known = describe(rejection.reason);
      first ??= known;
      if (known !== undefined) continue;
      this.#open.delete(bits);
      this.#free(this.#machine.pointers.context, rejection);
    }
    return first;
  }
}
