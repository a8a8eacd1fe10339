import { randomUUID } from "node:crypto";
import { mkdir, open, readdir, readFile, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { digestText } from "../base/digest.ts";
import { HoldpointError } from "../base/errors.ts";
import { parseExact, stringifyExact } from "../base/exact-json.ts";
import { objectKinds } from "./kinds.ts";
import type { ObjectKind, StoredObject } from "./store.ts";
import { readStoredObject } from "./stored-object.ts";

/** Longer names are cut and made unique by a digest: most file systems take 255 bytes a name. */
const FILE_NAME_LENGTH_MAX = 200;
const TEMPORARY = ".tmp";

/** Where the in-memory store keeps its objects over restarts: one JSON file per object, in `{kind}/{namespace}/{name}.json`. */
export class StateFolder {
  readonly #folder: string;

  /** @param folder is made when it does not exist */
  constructor(folder: string) {
    this.#folder = folder;
  }

  /**
   * Reads every object and removes what an interrupted write left behind.
   * @throws HoldpointError `StateFolderCorrupt` listing every file that holds no object
   */
  async load(): Promise<StoredObject[]> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    const objects: StoredObject[] = [];
    const faults: { path: string; message: string }[] = [];
    for (const kind of objectKinds) {
      for (const path of await this.#filesOf(kind)) {
        try {
          objects.push(await readObject(path, kind));
        } catch (error) {
          faults.push({ path, message: error instanceof Error ? error.message : String(error) });
        }
      }
    }
    if (faults.length === 0) return objects;
    const named = faults.map((fault) => `${fault.path}: ${fault.message}`).join("; ");
    throw new HoldpointError("StateFolderCorrupt", `the state folder cannot be read: ${named}`, { faults });
  }

  /** Replaces the object's file so that a crash leaves either the old or the new one, whole. */
  async write(object: StoredObject): Promise<void> {
    const path = this.#path(object);
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    const temporary = `${path}.${randomUUID()}${TEMPORARY}`;
    const file = await open(temporary, "wx", 0o600);
    try {
      await file.writeFile(`${stringifyExact(object, 2)}\n`);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
    await syncFolder(dirname(path));
  }

  /** Removes the object's file; no error when there is none. */
  async remove(object: StoredObject): Promise<void> {
    const path = this.#path(object);
    await rm(path, { force: true });
    await syncFolder(dirname(path));
  }

  #path(object: StoredObject): string {
    const { namespace, name } = object.metadata;
    const fileName =
      name.length <= FILE_NAME_LENGTH_MAX
        ? name
        : `${name.slice(0, FILE_NAME_LENGTH_MAX - 17)}-${digestText(name).slice(-16)}`;
    return join(this.#folder, object.kind, namespace, `${fileName}.json`);
  }

  async #filesOf(kind: ObjectKind): Promise<string[]> {
    const entries = await readdir(join(this.#folder, kind), { recursive: true, withFileTypes: true }).catch(
      noneIfAbsent,
    );
    const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
    await Promise.all(files.filter((path) => path.endsWith(TEMPORARY)).map((path) => rm(path, { force: true })));
    return files.filter((path) => path.endsWith(".json")).sort();
  }
}

async function readObject(path: string, kind: ObjectKind): Promise<StoredObject> {
  const object = readStoredObject(parseExact(await readFile(path, "utf8")), { apiVersion: "", kind: "" });
  if (object.kind !== kind) throw new RangeError(`kind: expected ${kind}, found ${object.kind || "none"}`);
  return object;
}

/** A rename is durable only once the folder that holds the name is. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

function noneIfAbsent(error: unknown): [] {
  if ((error as { code?: unknown }).code === "ENOENT") return [];
  throw error;
}
