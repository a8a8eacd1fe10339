import type { ObjectKey } from "./store.ts";

/** What is told of a change. */
export type ChangeHandler = (key: ObjectKey) => void;

/** The handlers of one kind. One that throws is reported and disturbs neither the others nor the watch. */
export class ChangeListeners {
  readonly #handlers = new Set<ChangeHandler>();
  readonly #onHandlerError: (error: unknown) => void;

  constructor(onHandlerError: (error: unknown) => void) {
    this.#onHandlerError = onHandlerError;
  }

  add(handler: ChangeHandler): void {
    this.#handlers.add(handler);
  }

  /** Tells one handler only, or all of them, that an object was made, changed or removed. */
  tell(key: ObjectKey, only?: ChangeHandler): void {
    for (const handler of only === undefined ? this.#handlers : [only]) {
      try {
        handler(key);
      } catch (error) {
        this.#onHandlerError(error);
      }
    }
  }

  clear(): void {
    this.#handlers.clear();
  }
}
