/** The part of the WebAssembly API that the sandbox uses: TypeScript declares it in its browser library only. */
declare namespace WebAssembly {
  type Exports = Record<string, unknown>;
  type Imports = Record<string, Record<string, unknown>>;

  class Module {
    constructor(bytes: Uint8Array<ArrayBuffer>);
  }

  class Instance {
    constructor(module: Module, imports?: Imports);
    readonly exports: Exports;
  }

  class Memory {
    constructor(size: { initial: number; maximum?: number });
    readonly buffer: ArrayBuffer;
  }

  class Table {
    readonly length: number;
    grow(by: number): number;
    set(index: number, value: unknown): void;
  }
}
