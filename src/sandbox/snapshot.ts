import type { EngineSource } from "./engine-source.ts";
import { RejectionTracker } from "./rejections.ts";
import { VirtualModules } from "./virtual-modules.ts";
import { HOST_FUNCTIONS, type MachinePointers, WasmMachine } from "./wasm-machine.ts";

/** The memory of an instance in which the world is loaded and no script yet. Instances begin as copies of it. */
export interface Snapshot {
  readonly pointers: MachinePointers;
  readonly trackerIndex: number;
  /** The parts of memory that are not zero, by their offset. */
  readonly regions: readonly { readonly offset: number; readonly bytes: Uint8Array }[];
}

const SNAPSHOT_MEMORY_BYTES = 32 * 1_048_576;
/** Of the engine's own stack, which has 5 MiB: some 6,000 calls of a small function, far below what the thread's stack takes. */
const STACK_BYTES = 1_048_576;
const ALL_INTRINSICS = 0xffff;
const MODULE_FLAG = 1;
const BLOCK_BYTES = 4_096;
const WORLD_FUNCTIONS = ["configure", "begin", "deliver", "fail", "describeUnhandled"] as const;

/** Makes the snapshot of this thread: loads the world into a first instance and keeps its memory. Some 20 ms. */
export async function takeSnapshot(source: EngineSource): Promise<Snapshot> {
  const machine = await WasmMachine.make(source, SNAPSHOT_MEMORY_BYTES, new VirtualModules(source.world, {}), {
    shouldInterrupt: () => 0,
    outOfMemory: () => {
      throw new Error("the script's world does not fit into the snapshot's memory");
    },
    called: () => undefined,
  });
  const { functions, memory, table } = machine.engine;
  const runtime = functions._QTS_NewRuntime();
  functions._QTS_RuntimeSetMaxStackSize(runtime, STACK_BYTES);
  functions._QTS_RuntimeEnableModuleLoader(runtime, 1);
  const trackerIndex = table.length;
  installTracker(machine, runtime, trackerIndex);
  const context = functions._QTS_NewContext(runtime, ALL_INTRINSICS);
  machine.pointers = { runtime, context, world: {} };
  const tracker = new RejectionTracker(machine, trackerIndex);
  tracker.activate();
  loadWorld(machine);
  return { pointers: machine.pointers, trackerIndex, regions: regionsOf(new Uint8Array(memory.buffer)) };
}

/** Turns a fresh machine into a copy of the snapshot. */
export function restore(machine: WasmMachine, snapshot: Snapshot): RejectionTracker {
  const memory = new Uint8Array(machine.engine.memory.buffer);
  for (const { offset, bytes } of snapshot.regions) memory.set(bytes, offset);
  machine.pointers = snapshot.pointers;
  return new RejectionTracker(machine, snapshot.trackerIndex);
}

/**
 * The engine has no function to set its rejection tracker, but its runtime holds the pointer two words behind that of the
 * interrupt handler, whose place is seen by setting that.
 */
function installTracker(machine: WasmMachine, runtime: number, trackerIndex: number): void {
  const { functions, memory } = machine.engine;
  const words = () => new Int32Array(memory.buffer.slice(runtime, runtime + 1_024));
  const before = words();
  functions._QTS_RuntimeEnableInterruptHandler(runtime);
  const after = words();
  const changed = [...after.keys()].filter((index) => after[index] !== before[index]);
  const [handler] = changed;
  if (changed.length !== 1 || handler === undefined) throw new Error("the engine's runtime has another layout");
  new Int32Array(memory.buffer)[(runtime >> 2) + handler + 2] = trackerIndex;
}

function loadWorld(machine: WasmMachine): void {
  const { functions } = machine.engine;
  const { runtime, context } = machine.pointers;
  const global = functions._QTS_GetGlobalObject(context);
  setHostFunctions(machine, global);
  const result = machine.evaluateRaw(context, 'import "holdpoint:main.js";', "holdpoint:start.js", MODULE_FLAG);
  const error = functions._QTS_ResolveException(context, result);
  if (error !== 0) throw new Error(`the script's world does not load: ${machine.readValue(context, error)}`);
  functions._QTS_FreeValuePointer(context, result);
  machine.runJobs();
  const exported = property(machine, global, "holdpointWorld");
  const world = Object.fromEntries(WORLD_FUNCTIONS.map((name) => [name, property(machine, exported, name)]));
  machine.evaluateRaw(context, "delete globalThis.holdpointWorld;", "holdpoint:start.js", 0);
  machine.pointers = { runtime, context, world };
}

function setHostFunctions(machine: WasmMachine, global: number): void {
  const { functions } = machine.engine;
  const { context } = machine.pointers;
  const host = machine.evaluateRaw(context, "globalThis.holdpointHost = {};", "holdpoint:start.js", 0);
  for (const [name, id] of Object.entries(HOST_FUNCTIONS)) {
    const key = machine.newString(context, name);
    const text = machine.newText(name);
    functions._QTS_SetProp(context, host, key, functions._QTS_NewFunction(context, text, 2, 0, id));
    functions._free(text);
  }
  if (global === 0) throw new Error("the engine has no global object");
}

function property(machine: WasmMachine, object: number, name: string): number {
  const { context } = machine.pointers;
  const key = machine.newString(context, name);
  return machine.engine.functions._QTS_GetProp(context, object, key);
}

function regionsOf(memory: Uint8Array): { offset: number; bytes: Uint8Array }[] {
  const regions: { offset: number; bytes: Uint8Array }[] = [];
  const words = new BigInt64Array(memory.buffer);
  let start = -1;
  for (let offset = 0; offset <= memory.length; offset += BLOCK_BYTES) {
    const isUsed =
      offset < memory.length && !words.subarray(offset >> 3, (offset + BLOCK_BYTES) >> 3).every((word) => word === 0n);
    if (isUsed && start < 0) start = offset;
    if (!isUsed && start >= 0) {
      regions.push({ offset: start, bytes: memory.slice(start, offset) });
      start = -1;
    }
  }
  return regions;
}
