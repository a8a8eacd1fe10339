/**
 * The engine's WASM as published does not export its function table, and so gives no way to hear of unhandled rejections
 * (semantics 3.9). This adds the table to the exports, and changes nothing else.
 */

/** Under this name the table is exported. */
export const TABLE_EXPORT = "holdpointTable";

const HEADER_BYTES = 8;
const EXPORT_SECTION = 7;
const TABLE_KIND = 1;

/**
 * The same module with its first table among the exports.
 * @throws Error when the bytes hold no export section: another build than the one this was written for.
 */
export function exportTable(wasm: Uint8Array): Uint8Array<ArrayBuffer> {
  let at = HEADER_BYTES;
  while (at < wasm.length) {
    const id = wasm[at];
    const size = readUnsigned(wasm, at + 1);
    const end = size.next + size.value;
    if (id === EXPORT_SECTION) return withEntry(wasm, at, size.next, end);
    at = end;
  }
  throw new Error("the engine's WASM has no export section");
}

function withEntry(wasm: Uint8Array, start: number, contentStart: number, end: number): Uint8Array<ArrayBuffer> {
  const count = readUnsigned(wasm, contentStart);
  const name = new TextEncoder().encode(TABLE_EXPORT);
  const entry = [...unsigned(name.length), ...name, TABLE_KIND, 0];
  const content = [...unsigned(count.value + 1), ...wasm.subarray(count.next, end), ...entry];
  return Uint8Array.from([
    ...wasm.subarray(0, start),
    EXPORT_SECTION,
    ...unsigned(content.length),
    ...content,
    ...wasm.subarray(end),
  ]);
}

/** LEB128, as WASM writes its counts. */
function readUnsigned(bytes: Uint8Array, from: number): { value: number; next: number } {
  let value = 0;
  for (let at = from, shift = 0; at < bytes.length; at += 1, shift += 7) {
    const byte = bytes[at] ?? 0;
    value |= (byte & 127) << shift;
    if ((byte & 128) === 0) return { value: value >>> 0, next: at + 1 };
  }
  throw new Error("the engine's WASM ends in the middle of a number");
}

function unsigned(value: number): number[] {
  const bytes: number[] = [];
  let rest = value;
  do {
    const low = rest & 127;
    rest >>>= 7;
    bytes.push(rest > 0 ? low | 128 : low);
  } while (rest > 0);
  return bytes;
}

/**
 * A WASM function of the signature that the engine's rejection tracker has, `(i32, i64, i64, i32, i32) -> ()`, which calls
 * the given one. Only a WASM function can stand in a table.
 */
export function trackerFunction(
  onRejection: (context: number, promise: bigint, reason: bigint, isHandled: number) => void,
): unknown {
  const type = [1, 9, 1, 0x60, 5, 0x7f, 0x7e, 0x7e, 0x7f, 0x7f, 0];
  const imported = [2, 7, 1, 1, 0x61, 1, 0x61, 0, 0];
  const exported = [7, 5, 1, 1, 0x61, 0, 0];
  const module = new WebAssembly.Module(
    Uint8Array.from([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, ...type, ...imported, ...exported]),
  );
  return new WebAssembly.Instance(module, { a: { a: onRejection } }).exports.a;
}
