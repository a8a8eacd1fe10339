import loadGlue from "@jitl/quickjs-wasmfile-release-sync/emscripten-module";
import type { EngineSource } from "./engine-source.ts";
import { TABLE_EXPORT } from "./wasm-patch.ts";

/** The functions of the engine that an instance uses. Every value is a pointer to a JSValue on the WASM heap. */
export interface EngineFunctions {
  _malloc(size: number): number;
  _free(pointer: number): void;
  _QTS_NewRuntime(): number;
  _QTS_NewContext(runtime: number, intrinsics: number): number;
  _QTS_RuntimeSetMaxStackSize(runtime: number, bytes: number): void;
  _QTS_RuntimeEnableInterruptHandler(runtime: number): void;
  _QTS_RuntimeEnableModuleLoader(runtime: number, customNormalize: number): void;
  _QTS_Eval(context: number, code: number, length: number, file: number, detectModule: number, flags: number): number;
  _QTS_Call(context: number, fn: number, self: number, count: number, args: number): number;
  _QTS_NewFunction(context: number, name: number, length: number, isConstructor: number, hostRef: number): number;
  _QTS_NewString(context: number, text: number): number;
  _QTS_GetString(context: number, value: number): number;
  _QTS_FreeCString(context: number, text: number): void;
  _QTS_NewFloat64(context: number, value: number): number;
  _QTS_NewError(context: number): number;
  _QTS_Throw(context: number, error: number): number;
  _QTS_GetGlobalObject(context: number): number;
  _QTS_GetProp(context: number, object: number, name: number): number;
  _QTS_SetProp(context: number, object: number, name: number, value: number): void;
  _QTS_GetUndefined(): number;
  _QTS_Typeof(context: number, value: number): number;
  _QTS_ResolveException(context: number, value: number): number;
  _QTS_FreeValuePointer(context: number, value: number): void;
  _QTS_DupValuePointer(context: number, value: number): number;
  _QTS_IsJobPending(runtime: number): number;
  _QTS_ExecutePendingJob(runtime: number, count: number, lastContext: number): number;
  _QTS_ArgvGetJSValueConstPointer(args: number, index: number): number;
}

/** What the engine asks its surroundings during a turn. Throwing from one unwinds the WASM: the instance is dead then. */
export interface EngineCallbacks {
  shouldInterrupt(): 0 | 1;
  /** A host function of that id was called. Answers a value, or 0 for undefined. */
  callFunction(context: number, argumentCount: number, args: number, id: number): number;
  /** The module's source as a C string on the heap, or 0 after an exception was thrown. */
  loadModule(context: number, name: string): number;
  /** The full name of what `base` imports as `name`, as a C string on the heap, or 0 after an exception was thrown. */
  normalizeModule(context: number, base: string, name: string): number;
  /** An allocation goes beyond the memory's cap: must throw. */
  outOfMemory(): never;
}

export interface WasmEngine {
  readonly functions: EngineFunctions;
  readonly memory: WebAssembly.Memory;
  readonly table: WebAssembly.Table;
}

interface GlueOptions {
  readonly wasmMemory: WebAssembly.Memory;
  readonly print: () => void;
  readonly printErr: () => void;
  readonly instantiateWasm: (
    imports: WebAssembly.Imports,
    onSuccess: (instance: WebAssembly.Instance) => void,
  ) => WebAssembly.Exports;
}
type Glue = (options: GlueOptions) => Promise<EngineFunctions & { callbacks: unknown }>;

/** The engine's WASM wants at least 16 MiB of address space; what is not touched costs nothing. */
export const PAGES_MIN = 256;
const PAGE_BYTES = 65_536;

/** Makes one WASM instance whose memory never grows beyond `memoryBytes`. */
export async function makeWasmEngine(
  source: EngineSource,
  memoryBytes: number,
  callbacks: EngineCallbacks,
): Promise<WasmEngine> {
  const maximum = Math.min(65_536, Math.max(PAGES_MIN, Math.ceil(memoryBytes / PAGE_BYTES)));
  const memory = new WebAssembly.Memory({ initial: PAGES_MIN, maximum });
  let table: WebAssembly.Table | undefined;
  const functions = await (loadGlue as unknown as Glue)({
    wasmMemory: memory,
    print: () => {},
    printErr: () => {},
    instantiateWasm(imports, onSuccess) {
      replaceImports(imports.a as Record<string, ImportFunction>, memory, callbacks);
      const instance = new WebAssembly.Instance(source.wasm, imports);
      table = instance.exports[TABLE_EXPORT] as WebAssembly.Table;
      onSuccess(instance);
      return instance.exports;
    },
  });
  functions.callbacks = glueCallbacks(callbacks);
  if (table === undefined) throw new Error("the engine's table is not exported");
  return { functions, memory, table };
}

function glueCallbacks(callbacks: EngineCallbacks): unknown {
  return {
    shouldInterrupt: () => callbacks.shouldInterrupt(),
    callFunction: (_async: unknown, context: number, _self: number, count: number, args: number, id: number) =>
      callbacks.callFunction(context, count, args, id),
    loadModuleSource: (_async: unknown, _runtime: number, context: number, name: string) =>
      callbacks.loadModule(context, name),
    normalizeModule: (_async: unknown, _runtime: number, context: number, base: string, name: string) =>
      callbacks.normalizeModule(context, base, name),
    freeHostRef: () => {},
  };
}

type ImportFunction = (...args: never[]) => unknown;

/**
 * Some of the glue's imports let the machine's clock, time zone and environment through, or report a failed allocation as an
 * ordinary error. Their letters belong to version 0.32.0, which is pinned exactly; tests notice when they change.
 */
function replaceImports(
  imports: Record<string, ImportFunction>,
  memory: WebAssembly.Memory,
  callbacks: EngineCallbacks,
): void {
  const words = () => new Int32Array(memory.buffer);
  const grow = imports.k as unknown as (size: number) => boolean;
  imports.k = ((size: number): boolean => grow(size) || callbacks.outOfMemory()) as ImportFunction;
  imports.p = (() => 0) as ImportFunction;
  imports.m = ((seconds: bigint, tm: number) => writeUtc(words(), seconds, tm >> 2)) as ImportFunction;
  imports.n = ((zone: number, daylight: number, standardName: number, daylightName: number) => {
    words()[zone >> 2] = 0;
    words()[daylight >> 2] = 0;
    for (const name of [standardName, daylightName]) new Uint8Array(memory.buffer).set([85, 84, 67, 0], name);
  }) as ImportFunction;
  imports.f = ((count: number, size: number) => {
    words()[count >> 2] = 0;
    words()[size >> 2] = 0;
    return 0;
  }) as ImportFunction;
  imports.e = (() => 0) as ImportFunction;
}

/** Fills the C struct tm: local time is UTC. */
function writeUtc(words: Int32Array, seconds: bigint, at: number): void {
  const date = new Date(Number(seconds) * 1_000);
  const yearStart = Date.UTC(date.getUTCFullYear(), 0, 1);
  words[at] = date.getUTCSeconds();
  words[at + 1] = date.getUTCMinutes();
  words[at + 2] = date.getUTCHours();
  words[at + 3] = date.getUTCDate();
  words[at + 4] = date.getUTCMonth();
  words[at + 5] = date.getUTCFullYear() - 1_900;
  words[at + 6] = date.getUTCDay();
  words[at + 7] = Math.floor((date.getTime() - yearStart) / 86_400_000);
  words[at + 8] = 0;
  words[at + 9] = 0;
}
