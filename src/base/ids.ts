import { v7 } from "uuid";

/** A new UUIDv7: unique over all clusters and time, and ordered by its time, so that tables can be partitioned by it. */
export function newId(): string {
  return v7();
}
