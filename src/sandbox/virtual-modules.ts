const WORLD = "holdpoint:";
const UNKNOWN = "unknown:";

/** The modules a script can import, and those of the world behind them, which it cannot (semantics 3.1). */
export class VirtualModules {
  readonly #world: Readonly<Record<string, string>>;
  readonly #groups: Readonly<Record<string, readonly string[]>>;

  constructor(world: Readonly<Record<string, string>>, groups: Readonly<Record<string, readonly string[]>>) {
    this.#world = world;
    this.#groups = groups;
  }

  /** The full name of what `base` imports as `name`. What it may not import gets a name that `load` does not know. */
  normalize(base: string, name: string): string {
    if (name === "rewind:tools" || name === "rewind") return name;
    const isOurs = base.startsWith(WORLD) || base === "rewind:tools" || base === "rewind";
    if (!isOurs) return UNKNOWN + name;
    return (
      WORLD +
      name
        .replace(/^\.\//, "")
        .replace(/^holdpoint:/, "")
        .replace(/\.ts$/, ".js")
    );
  }

  /**
   * The source of a module by its full name.
   * @throws Error saying what can be imported, for any other name
   */
  load(name: string): string {
    if (name === "rewind") {
      return `export { run, signal, sleep, sleepUntil, ToolError } from "${WORLD}main.js";`;
    }
    if (name === "rewind:tools") return this.#toolsModule();
    const source = name.startsWith(WORLD) ? this.#world[name.slice(WORLD.length)] : undefined;
    if (source !== undefined) return source;
    const asked = name.startsWith(UNKNOWN) ? name.slice(UNKNOWN.length) : name;
    throw new Error(`a script can import "rewind:tools" and "rewind" only, not ${JSON.stringify(asked)}`);
  }

  #toolsModule(): string {
    const lines = Object.entries(this.#groups).map(
      ([group, tools], index) =>
        `const group${index} = toolGroup(${JSON.stringify(group)}, ${JSON.stringify(tools)}); export { group${index} as ${group} };`,
    );
    return `import { toolGroup } from "${WORLD}main.js";\n${lines.join("\n")}`;
  }
}
