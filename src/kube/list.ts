import type { Json } from "../base/exact-json.ts";
import { keyText } from "../objects/kinds.ts";
import { keyOf } from "../objects/object-rules.ts";
import { ObjectStoreError, type StoredObject } from "../objects/store.ts";
import { readStoredObject } from "../objects/stored-object.ts";
import { ResponseTooLargeError } from "./api-error.ts";
import type { KubeClient } from "./client.ts";

/** One collection of the API. */
export interface Collection {
  readonly path: string;
  /** What the items of its lists are: they do not say so themselves. */
  readonly apiVersion: string;
  readonly kind: string;
}

/** All objects of a collection at one resourceVersion, from which a watch can go on. */
export interface Listing {
  readonly objects: Map<string, StoredObject>;
  readonly resourceVersion: string;
}

export interface ListOptions {
  /** Objects in one answer of the server. */
  readonly pageSize?: number;
  readonly signal?: AbortSignal;
  /** Lets a caller keep the objects it has: what is returned is listed in the object's place. */
  readonly intern?: (object: StoredObject) => StoredObject;
}

export const LIST_PAGE_SIZE = 500;
/** How often a list starts over because it took longer than the server remembers the state it began with. */
const RESTARTS_MAX = 3;
/** 10 million objects; more is a server that does not end its list. */
const PAGES_MAX = 20_000;

/**
 * Lists a collection page by page. Complete and of one state, or rejected: a list whose continuation expired starts over, and one
 * whose page is too large for the client goes on with smaller ones.
 * @throws ObjectStoreError
 */
export async function listCollection(
  client: KubeClient,
  collection: Collection,
  options: ListOptions = {},
): Promise<Listing> {
  for (let restarts = 0; ; restarts++) {
    try {
      return await listOnce(client, collection, options);
    } catch (error) {
      if (!(error instanceof ObjectStoreError) || error.httpStatus !== 410 || restarts >= RESTARTS_MAX) throw error;
    }
  }
}

async function listOnce(client: KubeClient, collection: Collection, options: ListOptions): Promise<Listing> {
  const objects = new Map<string, StoredObject>();
  let pageSize = options.pageSize ?? LIST_PAGE_SIZE;
  let continuation: string | undefined;
  for (let pages = 0; pages < PAGES_MAX; pages++) {
    const page = await readPage(client, collection, { pageSize, continuation, signal: options.signal });
    if (page === "too large") {
      pageSize = Math.max(1, Math.floor(pageSize / 2));
      continue;
    }
    for (const item of page.items) {
      const object = readItem(collection, item);
      objects.set(keyText(keyOf(object)), options.intern?.(object) ?? object);
    }
    continuation = page.continuation;
    if (continuation === undefined) return { objects, resourceVersion: page.resourceVersion };
  }
  throw new ObjectStoreError("Unavailable", `GET ${collection.path}: the list does not end`);
}

interface Page {
  readonly items: readonly Json[];
  readonly resourceVersion: string;
  readonly continuation: string | undefined;
}

async function readPage(
  client: KubeClient,
  collection: Collection,
  page: { pageSize: number; continuation: string | undefined; signal: AbortSignal | undefined },
): Promise<Page | "too large"> {
  try {
    const answer = await client.request({
      method: "GET",
      path: collection.path,
      query: { limit: page.pageSize, continue: page.continuation },
      ...(page.signal === undefined ? {} : { signal: page.signal }),
    });
    return pageOf(collection, answer as unknown as RawList);
  } catch (error) {
    if (error instanceof ResponseTooLargeError && page.pageSize > 1) return "too large";
    throw error;
  }
}

interface RawList {
  readonly items?: readonly Json[] | null;
  readonly metadata?: { readonly resourceVersion?: unknown; readonly continue?: unknown };
}

function pageOf(collection: Collection, list: RawList): Page {
  const { resourceVersion, continue: continuation } = list.metadata ?? {};
  if (typeof resourceVersion !== "string" || (list.items !== null && !Array.isArray(list.items)))
    throw new ObjectStoreError("Unavailable", `GET ${collection.path}: the answer is no list`);
  const more = typeof continuation === "string" && continuation !== "" ? continuation : undefined;
  return { items: list.items ?? [], resourceVersion, continuation: more };
}

/** The object in one item of a list or event of a watch. @throws ObjectStoreError */
export function readItem(collection: Collection, item: unknown): StoredObject {
  try {
    return readStoredObject(item, collection);
  } catch (error) {
    throw new ObjectStoreError("Unavailable", `GET ${collection.path}: ${(error as Error).message}`);
  }
}
