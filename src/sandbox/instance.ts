import { createHash } from "node:crypto";
import type { EngineSource } from "./engine-source.ts";
import { markIntegers } from "./exact-marks.ts";
import type {
  Command,
  Delivery,
  PrintedLine,
  ScriptFailure,
  ScriptSpec,
  Turn,
  TurnState,
  UnhandledFailure,
} from "./port.ts";
import type { RejectionTracker } from "./rejections.ts";
import { restore, type Snapshot } from "./snapshot.ts";
import { ThreadTimer } from "./thread-timer.ts";
import { VirtualModules } from "./virtual-modules.ts";
import { HOST_FUNCTIONS, WasmMachine } from "./wasm-machine.ts";

/** Why an instance can never run again. Thrown through the engine's frames, so that no `catch` or `finally` of the script sees it. */
export class InstanceEnded extends Error {
  readonly reason: "cpu" | "memory";
  constructor(reason: "cpu" | "memory") {
    super(`the instance reached its ${reason} limit`);
    this.reason = reason;
  }
}

/** The engine's own words for allocations that it refuses before they pass through the memory's cap. */
const OUT_OF_MEMORY = ["InternalError: out of memory", "InternalError: string too long"];
const MODULE_FLAG = 1;

/** One script in one WASM instance, on the thread that made it. A turn never takes longer than its budget plus one native operation. */
export class Instance {
  readonly #spec: ScriptSpec;
  readonly #machine: WasmMachine;
  readonly #tracker: RejectionTracker;
  readonly #timer = new ThreadTimer();
  #commands: Command[] = [];
  #printed: PrintedLine[] = [];
  #consoleBytes = 0;
  #ended: TurnState | undefined;
  #dead = false;

  private constructor(spec: ScriptSpec, machine: WasmMachine, tracker: RejectionTracker) {
    this.#spec = spec;
    this.#machine = machine;
    this.#tracker = tracker;
  }

  /** Makes an instance from the thread's snapshot. */
  static async make(source: EngineSource, snapshot: Snapshot, spec: ScriptSpec): Promise<Instance> {
    const holder: { instance?: Instance } = {};
    const modules = new VirtualModules(source.world, spec.groups);
    const machine = await WasmMachine.make(source, spec.limits.memoryBytes, modules, {
      shouldInterrupt: () => {
        if (holder.instance?.$overBudget() === true) throw new InstanceEnded("cpu");
        return 0;
      },
      outOfMemory: () => {
        throw new InstanceEnded("memory");
      },
      called: (id, args) => holder.instance?.$called(id, args),
    });
    const tracker = restore(machine, snapshot);
    const instance = new Instance(spec, machine, tracker);
    holder.instance = instance;
    return instance;
  }

  /** Bytes of the instance's memory as it is now. It never shrinks. */
  get memoryBytes(): number {
    return this.#machine.memoryBytes;
  }

  /** Evaluates the module and runs it until its job queue is empty. */
  start(budgetMs: number): Turn {
    return this.#turn(budgetMs, () => {
      const { spec } = this.#settings();
      const input = this.#spec.inputText === undefined ? undefined : markIntegers(this.#spec.inputText);
      const settings = input?.mark === undefined ? spec : { ...spec, mark: input.mark };
      this.#machine.callWorld("configure", [JSON.stringify(settings), input?.text]);
      this.#machine.evaluate(this.#spec.moduleSource, "script.ts", MODULE_FLAG, "begin", "fail");
    });
  }

  /** Tells the script one delivery and runs it until its job queue is empty. */
  deliver(delivery: Delivery, budgetMs: number): Turn {
    return this.#turn(budgetMs, () => {
      const { outcome } = delivery;
      const given = outcome.ok ? outcome.valueText : outcome.error.detailsText;
      const value = given === undefined ? undefined : markIntegers(given);
      const header = {
        ref: delivery.ref,
        atMs: delivery.atMs,
        ...(value?.mark === undefined ? {} : { mark: value.mark }),
        ...(outcome.ok ? {} : { error: outcome.error }),
      };
      this.#machine.callWorld("deliver", [JSON.stringify(header), value?.text]);
    });
  }

  #settings() {
    const { runId, toolset, startedAtMs, seed } = this.#spec;
    const digest = createHash("sha256").update(seed, "utf8").digest();
    const seedWords = [0, 4, 8, 12].map((at) => digest.readUInt32LE(at));
    return { spec: { runId, toolset, startedAtMs, seedWords } };
  }

  #turn(budgetMs: number, begin: () => void): Turn {
    if (this.#dead) throw new Error("an ended instance cannot run");
    this.#commands = [];
    this.#printed = [];
    this.#timer.start(budgetMs);
    let state: TurnState;
    try {
      this.#tracker.activate();
      begin();
      this.#machine.runJobs();
      state = this.#stateAfterTurn();
    } catch (error) {
      this.#dead = true;
      state = { kind: "failed", error: this.#failureOf(error) };
    }
    if (state.kind === "failed" && state.error.code === "CpuLimit") this.#commands = [];
    return { commands: this.#commands, printed: this.#printed, state, cpuMs: this.#timer.elapsedMs() };
  }

  #failureOf(error: unknown): ScriptFailure {
    if (error instanceof InstanceEnded) {
      return error.reason === "cpu" ? cpuLimit(this.#spec.limits.cpuMs) : memoryLimit(this.#spec.limits.memoryBytes);
    }
    if (error instanceof RangeError) return { code: "ScriptThrew", message: "InternalError: stack overflow" };
    const nearCap = this.memoryBytes > this.#spec.limits.memoryBytes * 0.9;
    if (nearCap) return memoryLimit(this.#spec.limits.memoryBytes);
    return { code: "ScriptThrew", message: "the script broke the engine that ran it" };
  }

  #stateAfterTurn(): TurnState {
    const ended = this.#ended;
    if (ended?.kind === "failed") {
      const isMemory = OUT_OF_MEMORY.includes(ended.error.message);
      return isMemory ? { kind: "failed", error: memoryLimit(this.#spec.limits.memoryBytes) } : ended;
    }
    const known = this.#tracker.firstUnhandled((reason) => this.#machine.callWorldWith("describeUnhandled", reason));
    const unhandled = known === undefined ? {} : { unhandled: JSON.parse(known) as UnhandledFailure };
    return { ...(ended ?? { kind: "waiting" }), ...unhandled } as TurnState;
  }

  /** Called by the engine every few thousand steps. */
  $overBudget(): boolean {
    return this.#timer.isOver();
  }

  /** Called by the world through its host functions. */
  $called(id: number, args: readonly string[]): number | undefined {
    if (id === HOST_FUNCTIONS.print)
      this.#print(args[0] as PrintedLine["level"], JSON.parse(args[1] ?? '""') as string);
    if (id === HOST_FUNCTIONS.command) return this.#command(args[0] ?? "{}", args[1] ?? "");
    if (id === HOST_FUNCTIONS.ended) this.#end(args[0] ?? "", args[1] ?? "");
    return undefined;
  }

  #print(level: PrintedLine["level"], text: string): void {
    const limit = this.#spec.limits.consoleBytes;
    if (this.#consoleBytes > limit) return;
    this.#consoleBytes += Buffer.byteLength(text, "utf8");
    const isOver = this.#consoleBytes > limit;
    const closing = `The run printed more than its limit of ${limit} bytes: what follows is dropped.`;
    this.#printed.push(isOver ? { level: "warn", text: closing } : { level, text });
  }

  #command(headerJson: string, argumentsText: string): number | undefined {
    const bytes = Buffer.byteLength(argumentsText, "utf8");
    if (bytes > this.#spec.limits.argumentBytes) return bytes;
    const header = JSON.parse(headerJson) as Command;
    this.#commands.push(header.kind === "call" ? { ...header, argumentsText } : header);
    return undefined;
  }

  #end(kind: string, text: string): void {
    if (this.#ended !== undefined) return;
    if (kind === "returned") this.#ended = text === "" ? { kind: "returned" } : { kind: "returned", valueText: text };
    else this.#ended = { kind: "failed", error: scriptFailure(text) };
  }
}

function scriptFailure(text: string): ScriptFailure {
  const failure = JSON.parse(text) as ScriptFailure;
  return failure.callError === undefined ? failure : { ...failure, code: failure.callError.code };
}

/** The failure of a script that computed longer than it may (semantics 3.5). */
export function cpuLimit(cpuMs: number): ScriptFailure {
  return { code: "CpuLimit", message: `the script computed longer than ${cpuMs} ms between two results` };
}

function memoryLimit(memoryBytes: number): ScriptFailure {
  return { code: "MemoryLimit", message: `the script needs more than ${memoryBytes} bytes of memory` };
}
