import { digestJson } from "../base/digest.ts";
import type { PinnedTool } from "../toolset/pin.ts";

/**
 * Names of the types that schemas refer to: scoped to their tool, valid, and unique (semantics 2.2). A name depends on the
 * group, the tool and the definition alone; tools are rendered in the pin's order, so names are stable whatever the listing's.
 */
export class TypeNames {
  readonly #byKey = new Map<string, string>();
  readonly #taken = new Set<string>();

  /** @param reference the definition's name, `""` for the schema itself */
  of(tool: PinnedTool, part: "Args" | "Result", reference: string): string {
    const identity = [tool.group, tool.name, part, reference];
    const key = JSON.stringify(identity);
    const known = this.#byKey.get(key);
    if (known !== undefined) return known;
    const parts = [tool.group, tool.name, part, ...(reference === "" ? [] : [reference])];
    const plain = parts.map((text) => text.replace(/\W/g, "_")).join("_");
    // Characters that no identifier holds are lost, and joined parts can read alike: then a digest tells them apart.
    const isPlain = parts.every((text) => /^\w+$/.test(text)) && !this.#taken.has(plain);
    const name = isPlain ? plain : `${plain}_${digestJson(identity).slice(7, 15)}`;
    this.#taken.add(name);
    this.#byKey.set(key, name);
    return name;
  }
}
