import { type Json, parseExact } from "../base/exact-json.ts";
import { ObjectStoreError } from "../objects/store.ts";

/** One line of a watch. */
export interface WatchEvent {
  readonly type: string;
  readonly object: Json;
}

/** An object is at most about 3 MiB (a request's bound), and an event holds one. */
const LINE_BYTES_MAX = 16 * 1024 * 1024;
const NEWLINE = 0x0a;

/**
 * The events of a watch's body, one JSON object a line. A last line that was cut off is dropped: the watch is resumed before it.
 * @throws ObjectStoreError `Unavailable` for a line that is no event or does not end
 */
export async function* readWatchEvents(body: AsyncIterable<Buffer>): AsyncGenerator<WatchEvent> {
  let pieces: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      pieces.push(chunk.subarray(start, end));
      const line = Buffer.concat(pieces).toString("utf8");
      pieces = [];
      bytes = 0;
      start = end + 1;
      if (line.trim() !== "") yield parseEvent(line);
    }
    const rest = chunk.subarray(start);
    bytes += rest.length;
    if (bytes > LINE_BYTES_MAX) throw new ObjectStoreError("Unavailable", "a watch event is larger than 16 MiB");
    if (rest.length > 0) pieces.push(rest);
  }
}

function parseEvent(line: string): WatchEvent {
  try {
    const event = parseExact(line) as unknown as WatchEvent;
    if (typeof event.type === "string") return event;
  } catch {
    // Told below: the line itself may hold a Secret and is not repeated.
  }
  throw new ObjectStoreError("Unavailable", "a line of the watch is no event");
}
