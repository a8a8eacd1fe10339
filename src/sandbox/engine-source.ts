import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { transformSync } from "amaro";
import { exportTable } from "./wasm-patch.ts";

/** What a worker needs to make instances: compiled and read once in a process, then handed to each worker. */
export interface EngineSource {
  readonly wasm: WebAssembly.Module;
  /** The script's world as JavaScript modules, by file name. */
  readonly world: Readonly<Record<string, string>>;
}

const require = createRequire(import.meta.url);
const WORLD_FOLDER = new URL("./world/", import.meta.url);

function readWorld(): Record<string, string> {
  const world: Record<string, string> = {};
  for (const name of readdirSync(WORLD_FOLDER).filter(isWorldFile).sort()) {
    const source = readFileSync(new URL(name, WORLD_FOLDER), "utf8");
    world[name.replace(/\.ts$/, ".js")] = name.endsWith(".ts")
      ? transformSync(source, { mode: "strip-only" }).code
      : source;
  }
  return world;
}

function isWorldFile(name: string): boolean {
  return (name.endsWith(".ts") || name.endsWith(".js")) && !name.endsWith(".test.ts") && !name.endsWith(".d.ts");
}

let source: EngineSource | undefined;

/** The engine's parts, read at the first use. */
export function engineSource(): EngineSource {
  source ??= {
    wasm: new WebAssembly.Module(
      exportTable(readFileSync(require.resolve("@jitl/quickjs-wasmfile-release-sync/wasm"))),
    ),
    world: readWorld(),
  };
  return source;
}

let build: string | undefined;

/**
 * Names this engine: two processes with the same text give the same turns for the same script. It is kept with each run,
 * as a run is replayed by the engine that began it. Digest of the WASM and of the world's source.
 */
export function engineBuild(): string {
  if (build === undefined) {
    const hash = createHash("sha256").update(readFileSync(require.resolve("@jitl/quickjs-wasmfile-release-sync/wasm")));
    for (const [name, text] of Object.entries(engineSource().world)) hash.update(`\0${name}\0${text}`);
    build = `quickjs-0.32.0-${hash.digest("hex").slice(0, 16)}`;
  }
  return build;
}
