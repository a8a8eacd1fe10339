import type { Json, JsonObject } from "../base/exact-json.ts";
import { pointerPart, pointerParts } from "./json-path.ts";

/** Where a `$ref` leads: the JSON pointer from the root of the document, and the schema that stands there. */
export interface Target {
  readonly pointer: string;
  readonly schema: Json;
}

/**
 * Finds what the references of one schema document mean: pointers to anywhere in it, anchors, and embedded `$id`s
 * (semantics 2.2). Nothing is ever fetched.
 */
export class References {
  readonly #root: Json;
  readonly #named = new Map<string, Target>();

  constructor(root: Json) {
    this.#root = root;
    this.#index(root, "");
  }

  /**
   * @param resource pointer of the nearest enclosing schema with an `$id`, `""` for the root: `#/…` starts there
   * @returns undefined when the reference points nowhere in this document
   */
  resolve(reference: string, resource: string): Target | undefined {
    const hash = reference.indexOf("#");
    const base = hash < 0 ? reference : reference.slice(0, hash);
    const fragment = decodeFragment(hash < 0 ? "" : reference.slice(hash + 1));
    if (base !== "") return this.#from(this.#named.get(base)?.pointer, fragment);
    return this.#from(resource, fragment) ?? this.#from("", fragment);
  }

  #from(base: string | undefined, fragment: string): Target | undefined {
    if (base === undefined) return undefined;
    if (pointerParts(fragment) === undefined) return this.#named.get(`#${fragment}`);
    return this.#at(`${base}${fragment}`);
  }

  #at(pointer: string): Target | undefined {
    let value: Json | undefined = this.#root;
    for (const part of pointerParts(pointer) ?? []) {
      if (typeof value !== "object" || value === null || !Object.hasOwn(value, part)) return undefined;
      value = (value as JsonObject)[part];
    }
    return value === undefined ? undefined : { pointer, schema: value };
  }

  #index(value: Json, pointer: string): void {
    if (typeof value !== "object" || value === null) return;
    if (!Array.isArray(value)) this.#name(value, pointer);
    for (const [key, item] of Object.entries(value)) this.#index(item, `${pointer}/${pointerPart(key)}`);
  }

  #name(schema: JsonObject, pointer: string): void {
    for (const keyword of ["$anchor", "$dynamicAnchor"]) this.#add(schema[keyword], "#", { pointer, schema });
    for (const keyword of ["$id", "id"]) this.#add(schema[keyword], "", { pointer, schema });
  }

  #add(name: Json | undefined, prefix: string, target: Target): void {
    if (typeof name !== "string") return;
    // Before 2019-09 an anchor was written as an id of a fragment only, which this keeps as it stands.
    const key = prefix + (name.endsWith("#") ? name.slice(0, -1) : name);
    if (!this.#named.has(key)) this.#named.set(key, target);
  }
}

function decodeFragment(fragment: string): string {
  try {
    return decodeURIComponent(fragment);
  } catch {
    return fragment;
  }
}
