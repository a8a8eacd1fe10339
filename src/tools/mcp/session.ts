import type { Connection, Era } from "./connection.ts";
import { HandshakeFailed, type ProtocolChoice, shakeHands } from "./handshake.ts";
import { abortCause } from "./http-lane.ts";
import type { Reply } from "./judgement.ts";

const handshakeTimeoutMs = 30_000;

/**
 * The one era that all requests to a server share. It is agreed on when first needed and again when the server no longer
 * knows it, once for all who wait (semantics 5.3).
 */
export class Session {
  readonly #connection: Connection;
  readonly #choice: ProtocolChoice;
  readonly #closing = new AbortController();
  #era: Era | undefined;
  #handshake: Promise<Era> | undefined;

  constructor(connection: Connection, choice: ProtocolChoice) {
    this.#connection = connection;
    this.#choice = choice;
  }

  /**
   * Makes a request in the current era; if the server does not know it any more, once again in a new one.
   * @throws HandshakeFailed when no era can be agreed on, so that the request was never sent.
   */
  async request(signal: AbortSignal, send: (era: Era) => Promise<Reply>): Promise<Reply> {
    const era = await this.#agreed(undefined, signal);
    const first = await send(era);
    if (first.kind !== "sessionLost") return first;
    const second = await send(await this.#agreed(era, signal));
    return second.kind === "sessionLost" ? { kind: "notSent", status: second.status, cause: second.cause } : second;
  }

  /** Ends the session at the server, if it has one. */
  async close(): Promise<void> {
    this.#closing.abort();
    const era = this.#era;
    this.#era = undefined;
    if (era) await this.#connection.endSession(era);
  }

  /** The current era, a new one if `stale` still is the current. */
  async #agreed(stale: Era | undefined, signal: AbortSignal): Promise<Era> {
    if (this.#era && this.#era !== stale) return this.#era;
    this.#handshake ??= this.#shake().finally(() => {
      this.#handshake = undefined;
    });
    return orAborted(this.#handshake, signal);
  }

  /** Whoever gives up waiting does not end the handshake, as others wait for it too; its own deadline does. */
  async #shake(): Promise<Era> {
    this.#era = undefined;
    const signal = AbortSignal.any([this.#closing.signal, AbortSignal.timeout(handshakeTimeoutMs)]);
    const era = await shakeHands(this.#connection, this.#choice, signal);
    this.#era = era;
    return era;
  }
}

function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(new HandshakeFailed("notSent", abortCause(signal)));
    if (signal.aborted) onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}
