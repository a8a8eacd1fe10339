/**
 * The database as the journal's verbs see it: Postgres behind a pool, or PGlite in the process. No verb relies on a
 * session (no SET, no temporary tables), so a pooler in transaction mode may stand between.
 */
export interface Sql {
  /** One statement, one implicit transaction. @throws DatabaseError */
  query<Row>(statement: string, values?: readonly unknown[]): Promise<QueryResult<Row>>;
  /** Several statements in one transaction on one connection, rolled back when `work` rejects. */
  transaction<Result>(work: (sql: Pick<Sql, "query">) => Promise<Result>): Promise<Result>;
  /**
   * Hints: calls back for each NOTIFY on the channel. Only ever shortens a poll: may be lost, and does nothing where no
   * direct connection is available. @returns stops listening
   */
  listen(channel: string, onHint: () => void): Promise<() => Promise<void>>;
  /** Sends a hint, outside of any transaction. Never rejects. */
  notify(channel: string): void;
  close(): Promise<void>;
}

export interface QueryResult<Row> {
  readonly rows: readonly Row[];
  readonly rowCount: number;
}

/** Whether a failed statement may be tried again, and what it says about its effect. */
export type FailureClass =
  /** The database is away, read-only or failing over: try again; whether the statement took effect is not known. */
  | "unavailable"
  /** The database refuses what the statement carries: trying the same again is in vain. */
  | "content"
  /** Anything else: a fault of ours or of the schema. */
  | "other";

const CONTENT_CLASSES = new Set(["22", "23", "54"]);
/** 25006 read-only, 40001 and 40P01 retriable, 53 resources, 55P03 lock, 57 operator intervention, 58 system, 08 connection. */
const UNAVAILABLE_STATES = new Set(["25006", "40001", "40P01", "55P03"]);
const UNAVAILABLE_CLASSES = new Set(["08", "53", "57", "58"]);
const NETWORK_CODES = new Set(["ECONNREFUSED", "ECONNRESET", "EPIPE", "ETIMEDOUT", "ENOTFOUND", "EAI_AGAIN", "ENOENT"]);

/** Sorts an error of a database client by its SQLSTATE; an error without one came from the connection. */
export function classifyFailure(error: unknown): FailureClass {
  const code = (error as { code?: unknown } | null)?.code;
  if (typeof code !== "string")
    return error instanceof TypeError || error instanceof RangeError ? "other" : "unavailable";
  if (NETWORK_CODES.has(code) || UNAVAILABLE_STATES.has(code)) return "unavailable";
  if (!/^[0-9A-Z]{5}$/.test(code)) return "unavailable";
  const stateClass = code.slice(0, 2);
  if (CONTENT_CLASSES.has(stateClass)) return "content";
  return UNAVAILABLE_CLASSES.has(stateClass) ? "unavailable" : "other";
}

/** The channel on which the dispatchers of a toolset are hinted. */
export function toolsetChannel(toolsetId: number): string {
  return `holdpoint_toolset_${toolsetId}`;
}

/** The channel on which the controller is hinted: a projection waits, or demand changed. */
export const CONTROLLER_CHANNEL = "holdpoint_controller";
