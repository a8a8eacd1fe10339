/** A script that tries to harm its surroundings, and how its own run must end. `returned` means: it does no harm, and may go on. */
export interface HostileScript {
  readonly name: string;
  readonly source: string;
  readonly expected: "CpuLimit" | "MemoryLimit" | "ScriptThrew" | "ScriptInvalid" | "InvalidArguments" | "ResultNotSerializable" | "returned" | "waiting";
  /** The exact JSON text of the result, where one is returned. */
  readonly value?: string;
}

const main = (body: string): string => `import { db } from "rewind:tools"; export default async () => { ${body} }`;

const endlessLoops: readonly HostileScript[] = [
  ["top level", "for (;;) {}"],
  ["executor", main("await new Promise(() => { for (;;) {} })")],
  ["after an await", main("await null; while (true) {}")],
  ["caught again and again", main("const spin = async () => { await null; for (;;) {} }; for (;;) await spin().catch(() => {})")],
  ["in finally", main("try { for (;;) {} } finally { for (;;) {} }")],
  ["in a getter of arguments", main("await db.find({ get a() { for (;;) {} } })")],
  ["in toJSON", main("return { toJSON() { for (;;) {} } }")],
  ["in a Proxy of arguments", main("await db.find(new Proxy({}, { ownKeys() { for (;;) {} } }))")],
  ["in a thenable", main("await { then() { for (;;) {} } }")],
  ["in an error's message", main("throw Object.defineProperty(new Error(), 'message', { get() { for (;;) {} } })")],
  ["in a sort", main("[3, 2, 1].sort(() => { for (;;) {} })")],
  ["in a generator", main("function* g() { for (;;) yield 1 } for (const x of g()) ;")],
  ["of awaits", main("for (;;) await null")],
  ["in a regular expression", main("return /^(a+)+$/.test('a'.repeat(50) + 'b')")],
  ["in eval", main("return (0, eval)('for (;;) {}')")],
  ["in a replacer", main("return 'a'.replace(/a/, () => { for (;;) {} })")],
  ["in a native fill", main("const a = new Uint8Array(3e7); for (;;) a.fill(1)")],
  ["in a static block", "class A { static { for (;;) {} } }"],
].map(([name, source]) => ({ name: `loop ${name}`, source: source as string, expected: "CpuLimit" as const }));

const bombs: readonly HostileScript[] = [
  ["array", main("const a = []; for (;;) a.push(new Array(1000).fill(1))")],
  ["string", main("let s = 'x'; for (;;) s += s + Math.random()")],
  ["repeat", main("return 'x'.repeat(2 ** 29)")],
  ["caught repeat", main("for (;;) { try { 'x'.repeat(2 ** 29) } catch {} }")],
  ["buffer", main("const a = []; for (;;) a.push(new ArrayBuffer(1e7))")],
  ["one buffer", main("return new ArrayBuffer(2 ** 30).byteLength")],
  ["map", main("const m = new Map(); for (let i = 0; ; i++) m.set(i, 'v' + i)")],
  ["closures", main("let f = () => 0; for (;;) { const g = f; f = () => g }")],
  ["promises", main("const p = []; for (;;) p.push(new Promise(() => {}))")],
  ["rejections", main("for (;;) Promise.reject(new Error('x'))")],
  ["padStart", main("return 'x'.padStart(2 ** 29).length")],
  ["join", main("const a = new Array(1e6).fill('x'.repeat(1e3)); return a.join('').length")],
  ["symbols", main("const o = {}; for (;;) o[Symbol('x'.repeat(100))] = 1")],
  ["result", main("const a = 'x'.repeat(2e7); return [a, a, a, a, a]")],
  ["endless finally", main("try { const a = []; for (;;) a.push(new Array(1000).fill(1)) } finally { return 'survived' }")],
  ["recursion of promises", "export default async () => { const again = () => Promise.resolve().then(again); await again() }"],
].map(([name, source]) => ({ name: `bomb ${name}`, source: source as string, expected: "MemoryLimit" as const }));

const deepRecursion: readonly HostileScript[] = [
  { name: "recursion plain", source: main("const f = () => f(); f()"), expected: "ScriptThrew" },
  { name: "recursion caught", source: main("let d = 0; const f = () => { d++; f() }; try { f() } catch { return d > 100 }"), expected: "returned", value: "true" },
  { name: "recursion through map", source: main("const f = () => [1].map(f); f()"), expected: "ScriptThrew" },
  { name: "recursion through toString", source: main("const o = { toString() { return '' + o } }; return '' + o"), expected: "ScriptThrew" },
  { name: "recursion through Proxy", source: main("let p = {}; for (let i = 0; i < 1e5; i++) p = new Proxy(p, {}); return p.x"), expected: "ScriptThrew" },
  { name: "recursion through replace", source: main("const f = () => 'a'.replace(/a/, f); f()"), expected: "ScriptThrew" },
  { name: "deep JSON text", source: main("return JSON.parse('['.repeat(1e5) + ']'.repeat(1e5)).length"), expected: "ScriptThrew" },
  { name: "deep arguments", source: main("let a = []; for (let i = 0; i < 1e5; i++) a = [a]; await db.find({ a })"), expected: "InvalidArguments" },
  { name: "deep result", source: main("let a = []; for (let i = 0; i < 1e5; i++) a = [a]; return a"), expected: "ResultNotSerializable" },
  { name: "deep source", source: `export default () => ${"(".repeat(20_000)}1${")".repeat(20_000)}`, expected: "ScriptInvalid" },
  { name: "deep pattern", source: main("return new RegExp('('.repeat(1e5) + ')'.repeat(1e5)).test('')"), expected: "ScriptThrew" },
];

const refusals: readonly HostileScript[] = [
  { name: "endless BigInt", source: main("let b = 2n; for (;;) b = b * b"), expected: "ScriptThrew" },
  { name: "impossible array", source: main("return new Array(-1)"), expected: "ScriptThrew" },
];

const escapes: readonly HostileScript[] = [
  { name: "host globals", source: main("return [typeof process, typeof require, typeof fetch, typeof setTimeout, typeof performance, typeof Intl, typeof SharedArrayBuffer, typeof Atomics, typeof WeakRef, typeof WebAssembly, typeof holdpointHost, typeof holdpointWorld].join()"), expected: "returned", value: `"${new Array(12).fill("undefined").join()}"` },
  { name: "Function constructor", source: main("return db.find.constructor('return typeof process')()"), expected: "returned", value: '"undefined"' },
  { name: "inner module", source: 'import "holdpoint:host.js";', expected: "ScriptInvalid" },
  { name: "inner module, dynamic", source: main("await import('holdpoint:commands.js')"), expected: "ScriptThrew" },
  { name: "file", source: 'import "node:fs";', expected: "ScriptInvalid" },
  { name: "unknown group", source: 'import { nothing } from "rewind:tools";', expected: "ScriptInvalid" },
  { name: "frozen tools", source: main("db.find = 1"), expected: "ScriptThrew" },
  { name: "own ToolError is no call's", source: `import { ToolError } from "rewind"; throw new ToolError("x", { code: "Rejected", tool: "db.find" })`, expected: "ScriptThrew" },
  { name: "stack names the script only", source: main("const seen = []; try { await db.find(1n, seen) } catch (e) { seen.push(e) } try { await db.find({ a: () => 0 }) } catch (e) { return /holdpoint|wasm|node:/.test(e.stack) }"), expected: "waiting" },
];

const tampering: readonly HostileScript[] = [
  { name: "overwritten primordials", source: main("Array.prototype.push = Object.keys = JSON.stringify = JSON.parse = Object.defineProperty = () => { throw 1 }; Map.prototype.get = WeakMap.prototype.get = () => 1; return [1, { a: 'b' }]"), expected: "returned", value: '[1,{"a":"b"}]' },
  { name: "index setter", source: main("Object.defineProperty(Array.prototype, 0, { set() { throw 1 } }); Object.defineProperty(Object.prototype, 'ref', { set() { throw 1 } }); return 7"), expected: "returned", value: "7" },
  { name: "Promise.prototype.then", source: main("Promise.prototype.then = () => { throw 1 }; return 7"), expected: "returned", value: "7" },
  { name: "Promise species", source: main("Object.defineProperty(Promise, Symbol.species, { get() { throw 1 } }); return 7"), expected: "ScriptThrew" },
  { name: "__proto__ key", source: main("return JSON.parse('{\"__proto__\":{\"a\":1}}')"), expected: "returned", value: '{"__proto__":{"a":1}}' },
  { name: "getter that throws in a thrown error", source: main("throw { get message() { throw 1 }, get stack() { throw 1 } }"), expected: "ScriptThrew" },
  { name: "revoked Proxy as result", source: main("const r = Proxy.revocable({}, {}); r.revoke(); return r.proxy"), expected: "ScriptThrew" },
  { name: "console flood", source: main("for (let i = 0; i < 5e4; i++) console.log('x'.repeat(100)); return 1"), expected: "returned", value: "1" },
  { name: "console of a Proxy", source: main("console.log(new Proxy({}, { get() { throw 1 }, ownKeys() { throw 1 } })); return 1"), expected: "returned", value: "1" },
];

/** Every hostile script of the suite. */
export const hostileScripts: readonly HostileScript[] = [...endlessLoops, ...bombs, ...deepRecursion, ...refusals, ...escapes, ...tampering];
