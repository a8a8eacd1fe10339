import type { EngineSource } from "./engine-source.ts";
import type { VirtualModules } from "./virtual-modules.ts";
import { makeWasmEngine, type WasmEngine } from "./wasm-engine.ts";

/** Ids of the functions that the world calls. */
export const HOST_FUNCTIONS = { print: 1, command: 2, ended: 3 } as const;

/** Pointers that are the same in every instance made from one snapshot. */
export interface MachinePointers {
  readonly runtime: number;
  readonly context: number;
  /** The world's functions, by name. */
  readonly world: Readonly<Record<string, number>>;
}

interface MachineCallbacks {
  shouldInterrupt(): 0 | 1;
  outOfMemory(): never;
  called(id: number, args: readonly string[]): number | undefined;
}

/** An engine with the few operations that an instance needs: text in, text out, call, evaluate, run jobs. */
export class WasmMachine {
  readonly engine: WasmEngine;
  #pointers: MachinePointers | undefined;

  private constructor(engine: WasmEngine) {
    this.engine = engine;
  }

  static async make(
    source: EngineSource,
    memoryBytes: number,
    modules: VirtualModules,
    callbacks: MachineCallbacks,
  ): Promise<WasmMachine> {
    const holder: { machine?: WasmMachine } = {};
    const machine = () => holder.machine as WasmMachine;
    const engine = await makeWasmEngine(source, memoryBytes, {
      shouldInterrupt: callbacks.shouldInterrupt,
      outOfMemory: callbacks.outOfMemory,
      callFunction: (context, count, args, id) => {
        const answer = callbacks.called(id, machine().#readArguments(context, count, args));
        return answer === undefined ? 0 : engine.functions._QTS_NewFloat64(context, answer);
      },
      loadModule: (context, name) => {
        let text: string;
        try {
          text = modules.load(name);
        } catch (error) {
          return machine().#throw(context, (error as Error).message);
        }
        return machine().newText(text);
      },
      normalizeModule: (_context, base, name) => machine().newText(modules.normalize(base, name)),
    });
    holder.machine = new WasmMachine(engine);
    return holder.machine;
  }

  get pointers(): MachinePointers {
    if (this.#pointers === undefined) throw new Error("the machine has no context yet");
    return this.#pointers;
  }

  set pointers(pointers: MachinePointers) {
    this.#pointers = pointers;
  }

  get memoryBytes(): number {
    return this.engine.memory.buffer.byteLength;
  }

  /** Copies text to the heap as UTF-8 with a closing zero. Whoever gets the pointer frees it. */
  newText(text: string): number {
    const length = Buffer.byteLength(text, "utf8");
    const pointer = this.engine.functions._malloc(length + 1);
    const bytes = Buffer.from(this.engine.memory.buffer, pointer, length + 1);
    bytes.write(text, 0, length, "utf8");
    bytes[length] = 0;
    return pointer;
  }

  #readText(pointer: number): string {
    const bytes = Buffer.from(this.engine.memory.buffer);
    return bytes.toString("utf8", pointer, bytes.indexOf(0, pointer));
  }

  /** A value as text, by the language's own conversion. */
  readValue(context: number, value: number): string {
    const text = this.engine.functions._QTS_GetString(context, value);
    const read = this.#readText(text);
    this.engine.functions._QTS_FreeCString(context, text);
    return read;
  }

  /** A new string value. */
  newString(context: number, text: string): number {
    const pointer = this.newText(text);
    const value = this.engine.functions._QTS_NewString(context, pointer);
    this.engine.functions._free(pointer);
    return value;
  }

  #readArguments(context: number, count: number, args: number): string[] {
    const texts: string[] = [];
    for (let index = 0; index < count; index += 1) {
      texts.push(this.readValue(context, this.engine.functions._QTS_ArgvGetJSValueConstPointer(args, index)));
    }
    return texts;
  }

  #throw(context: number, message: string): 0 {
    const { functions } = this.engine;
    const error = functions._QTS_NewError(context);
    for (const [name, text] of [
      ["message", message],
      ["name", "SyntaxError"],
    ] as const) {
      const key = this.newString(context, name);
      const value = this.newString(context, text);
      functions._QTS_SetProp(context, error, key, value);
      functions._QTS_FreeValuePointer(context, key);
      functions._QTS_FreeValuePointer(context, value);
    }
    functions._QTS_Throw(context, error);
    functions._QTS_FreeValuePointer(context, error);
    return 0;
  }

  /** Calls a function of the world with texts (or undefined). @throws Error for what the world itself throws: a fault of ours. */
  callWorld(name: string, args: readonly (string | undefined)[]): void {
    const { functions } = this.engine;
    const { context } = this.pointers;
    const values = args.map((text) =>
      text === undefined ? functions._QTS_GetUndefined() : this.newString(context, text),
    );
    const result = this.#call(name, values);
    functions._QTS_FreeValuePointer(context, result);
    values.forEach((value, index) => {
      if (args[index] !== undefined) functions._QTS_FreeValuePointer(context, value);
    });
  }

  /** Calls a function of the world with a value, and reads its answer; undefined when it is no text. */
  callWorldWith(name: string, value: number): string | undefined {
    const { functions } = this.engine;
    const { context } = this.pointers;
    const result = this.#call(name, [value]);
    const kind = functions._QTS_Typeof(context, result);
    const isText = this.#readText(kind) === "string";
    functions._free(kind);
    const text = isText ? this.readValue(context, result) : undefined;
    functions._QTS_FreeValuePointer(context, result);
    return text;
  }

  #call(name: string, values: readonly number[]): number {
    const { functions, memory } = this.engine;
    const { context, world } = this.pointers;
    const list = functions._malloc(4 * Math.max(1, values.length));
    new Int32Array(memory.buffer, list, values.length).set(values);
    const result = functions._QTS_Call(context, world[name] ?? 0, functions._QTS_GetUndefined(), values.length, list);
    functions._free(list);
    const error = functions._QTS_ResolveException(context, result);
    if (error !== 0) throw new Error(`the script's world failed in ${name}: ${this.readValue(context, error)}`);
    return result;
  }

  /** Evaluates source, and hands what it gives to one function of the world, or what it throws to another. */
  evaluate(source: string, file: string, flags: number, onValue: string, onError: string): void {
    const { functions } = this.engine;
    const { context } = this.pointers;
    const result = this.evaluateRaw(context, source, file, flags);
    const error = functions._QTS_ResolveException(context, result);
    const answer = error === 0 ? this.#call(onValue, [result]) : this.#call(onError, [error]);
    functions._QTS_FreeValuePointer(context, answer);
    functions._QTS_FreeValuePointer(context, result);
    if (error !== 0) functions._QTS_FreeValuePointer(context, error);
  }

  evaluateRaw(context: number, source: string, file: string, flags: number): number {
    const { functions } = this.engine;
    const code = this.newText(source);
    const name = this.newText(file);
    const result = functions._QTS_Eval(context, code, Buffer.byteLength(source, "utf8"), name, 0, flags);
    functions._free(code);
    functions._free(name);
    return result;
  }

  /** Runs jobs until the queue is empty. A job that throws is not ours to handle: promises carry errors. */
  runJobs(): void {
    const { functions } = this.engine;
    const { context, runtime } = this.pointers;
    const last = functions._malloc(4);
    while (functions._QTS_IsJobPending(runtime) !== 0) {
      const result = functions._QTS_ExecutePendingJob(runtime, -1, last);
      functions._QTS_FreeValuePointer(context, result);
    }
    functions._free(last);
  }
}
