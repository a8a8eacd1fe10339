import type { ObjectEvent, ObjectKind, StoredObject } from "./store.ts";

/** An event as it was recorded: repeated ones are one entry with a count. */
export interface RecordedEvent extends ObjectEvent {
  readonly kind: ObjectKind;
  readonly namespace: string;
  readonly name: string;
  readonly count: number;
  /** ISO time of the first and of the last time. */
  readonly firstAt: string;
  readonly lastAt: string;
}

/** The newest events, bounded in number: an event that repeats is counted up and becomes the newest. */
export class EventLog {
  readonly #entries = new Map<string, RecordedEvent>();
  readonly #entriesMax: number;

  constructor(entriesMax: number) {
    this.#entriesMax = entriesMax;
  }

  /** @param at ISO time */
  record(kind: ObjectKind, object: StoredObject, event: ObjectEvent, at: string): RecordedEvent {
    const { namespace, name, uid } = object.metadata;
    const id = JSON.stringify([uid, event.type, event.reason, event.message]);
    const known = this.#entries.get(id);
    const { type, reason, message } = event;
    const firstAt = known?.firstAt ?? at;
    const entry = { kind, namespace, name, type, reason, message, count: (known?.count ?? 0) + 1, firstAt, lastAt: at };
    this.#entries.delete(id);
    this.#entries.set(id, entry);
    const [oldest] = this.#entries.keys();
    if (this.#entries.size > this.#entriesMax && oldest !== undefined) this.#entries.delete(oldest);
    return entry;
  }

  /** Oldest first. */
  all(): RecordedEvent[] {
    return [...this.#entries.values()];
  }
}
