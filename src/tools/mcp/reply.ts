import type { IncomingHttpHeaders } from "node:http";
import { createParser, type EventSourceParser } from "eventsource-parser";
import type { ReaderWish, ResponseReader } from "./http-lane.ts";
import { type Incoming, readMessages } from "./wire.ts";

export interface ReplyOptions {
  /** The request's id: only a message with it is the answer. */
  readonly id: number;
  /** The most bytes a body, or one event of a stream, may have. */
  readonly bytesMax: number;
  /** Called for whatever a stream carries besides the answer. */
  readonly onMessage?: (message: Incoming) => void;
}

/** An answer, with the id of the request. */
export type Answer = Extract<Incoming, { kind: "result" | "error" }>;

/** Messages besides the answer that one request may bring; a stream of more says nothing any more. */
const messagesMax = 100_000;

/**
 * Reads the reply to one request: a JSON body, or an SSE stream up to the message with the request's id.
 * One object serves a request and the resumptions of its stream. It holds what came, and judges nothing.
 */
export class ReplyReader implements ResponseReader {
  readonly #options: ReplyOptions;
  status = 0;
  headers: IncomingHttpHeaders = {};
  /** The answer, once it is there. */
  answer: Answer | undefined;
  /** A JSON-RPC error without an id: how servers refuse what they did not look into. */
  anonymousError: Answer | undefined;
  /** Set when more bytes came than may. */
  tooLargeBytes: number | undefined;
  /** What was wrong with the reply, when it came whole and holds no answer. */
  fault: string | undefined;
  /** The id of the stream's last event, and the pause the server asks for before it is resumed. */
  lastEventId: string | undefined;
  resumeAfterMs: number | undefined;

  #events: EventSourceParser | undefined;
  #decoder = new TextDecoder();
  #chunks: Buffer[] = [];
  #bytes = 0;
  #bytesTotal = 0;
  #messages = 0;

  constructor(options: ReplyOptions) {
    this.#options = options;
  }

  /** All bytes that came. */
  get bytes(): number {
    return this.#bytesTotal;
  }

  get isStream(): boolean {
    return this.#events !== undefined;
  }

  head(status: number, headers: IncomingHttpHeaders): ReaderWish {
    this.status = status;
    this.headers = headers;
    this.#bytes = 0;
    this.#chunks = [];
    this.#decoder = new TextDecoder();
    this.#events = mediaType(headers) === "text/event-stream" ? this.#parser() : undefined;
    return this.#bound(Number(headers["content-length"] ?? 0) || 0);
  }

  data(chunk: Buffer): ReaderWish {
    this.#bytes += chunk.length;
    this.#bytesTotal += chunk.length;
    if (this.#bound(this.#bytes) === "stop") return "stop";
    if (!this.#events) {
      this.#chunks.push(chunk);
      return "more";
    }
    this.#events.feed(this.#decoder.decode(chunk, { stream: true }));
    if (this.answer) return "enough";
    return this.fault === undefined ? "more" : "stop";
  }

  /** Reads the JSON body once it is whole, and says what is missing. */
  finish(): void {
    if (this.#events || this.answer || this.tooLargeBytes !== undefined) return;
    const text = Buffer.concat(this.#chunks).toString("utf8");
    this.#chunks = [];
    if (text.trim() === "") this.fault ??= `HTTP ${this.status} with an empty body`;
    else for (const message of readMessages(text)) this.#take(message);
    if (!this.answer) this.fault ??= `HTTP ${this.status} without the answer to this request`;
  }

  #parser(): EventSourceParser {
    return createParser({
      onEvent: (event) => {
        this.#bytes = 0;
        if (event.id !== undefined) this.lastEventId = event.id;
        if (event.data === "") return;
        for (const message of readMessages(event.data)) this.#take(message);
      },
      onRetry: (retryMs) => {
        this.resumeAfterMs = retryMs;
      },
    });
  }

  #take(message: Incoming): void {
    if (++this.#messages > messagesMax) {
      this.fault ??= `more than ${messagesMax} messages before the answer`;
      return;
    }
    if (message.kind === "malformed") {
      this.fault ??= this.#malformed();
    } else if (message.kind !== "result" && message.kind !== "error") {
      this.#options.onMessage?.(message);
    } else if (message.id === this.#options.id || message.id === String(this.#options.id)) {
      this.answer ??= message;
    } else if (message.kind === "error" && message.id === null) {
      this.anonymousError ??= message;
    } else {
      this.fault ??= "the answer carries the id of another request";
    }
  }

  #malformed(): string {
    const encoding = this.headers["content-encoding"];
    const how = encoding === undefined || encoding === "identity" ? "" : ` (content-encoding ${encoding})`;
    return `HTTP ${this.status} with a body that is no JSON-RPC message${how}`;
  }

  #bound(bytes: number): ReaderWish {
    if (bytes <= this.#options.bytesMax) return "more";
    this.tooLargeBytes = bytes;
    return "stop";
  }
}

function mediaType(headers: IncomingHttpHeaders): string {
  return (headers["content-type"] ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? "";
}
