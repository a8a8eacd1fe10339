import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { newId } from "../../src/base/ids.ts";
import { createLogger } from "../../src/base/log.ts";
import { readLog } from "../../src/journal/append.ts";
import { claimRuns } from "../../src/journal/claims.ts";
import { GroupCommit } from "../../src/journal/group-commit.ts";
import { registerIncarnation, takeOver } from "../../src/journal/incarnations.ts";
import type { LogRecord } from "../../src/journal/log-records.ts";
import { migrate } from "../../src/journal/migrate.ts";
import { openPglite } from "../../src/journal/pglite.ts";
import { admitRun } from "../../src/journal/runs.ts";
import type { QueryResult, Sql } from "../../src/journal/sql.ts";
import { observeToolset } from "../../src/journal/toolsets.ts";

const log = createLogger("test", "silent");

/** A real engine whose answers can be lost: before or after the statement took effect. */
class LossySql implements Pick<Sql, "query"> {
  readonly #sql: Sql;
  statements = 0;
  loseBefore = 0;
  loseAfter = 0;
  refuse: ((values: readonly unknown[]) => boolean) | undefined;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async query<Row>(statement: string, values: readonly unknown[] = []): Promise<QueryResult<Row>> {
    this.statements += 1;
    if (this.loseBefore-- > 0) throw Object.assign(new Error("connection refused"), { code: "ECONNREFUSED" });
    if (this.refuse?.(values)) throw Object.assign(new Error("invalid byte sequence"), { code: "22021" });
    const result = await this.#sql.query<Row>(statement, values);
    if (this.loseAfter-- > 0) throw Object.assign(new Error("connection reset"), { code: "ECONNRESET" });
    return result;
  }
}

let sql: Sql;
let lossy: LossySql;
let toolsetId: number;
let incarnationId: string;
let runs: string[];
let projected = 0;
let writer: GroupCommit;

beforeAll(async () => {
  sql = await openPglite("memory://");
  await migrate(sql);
});
afterAll(() => sql.close());

beforeEach(async () => {
  const toolset = {
    namespace: "a",
    name: newId(),
    uid: "u",
    generation: 1,
    specText: "{}",
    suspended: false,
    pinReason: "",
  };
  ({ toolsetId } = await observeToolset(sql, toolset));
  incarnationId = await registerIncarnation(sql, { toolsetId, place: "p", leaseMs: 60_000 });
  for (let index = 0; index < 3; index += 1) {
    await admitRun(sql, {
      toolsetId,
      namespace: "a",
      name: newId(),
      uid: newId(),
      generatedName: true,
      specDigest: "",
      pinDigest: "",
      requester: "",
      script: "",
    });
  }
  runs = (await claimRuns(sql, incarnationId, 10)).map((run) => run.runId);
  lossy = new LossySql(sql);
  projected = 0;
  writer = new GroupCommit(lossy as unknown as Sql, incarnationId, log, () => {
    projected += 1;
  });
});

const slept = (ref: number): LogRecord => ({ kind: "slept", ref });
const append = (run: number, n: number, extra = {}) =>
  writer.append({ runId: runs[run] ?? "", n, atMs: n, record: slept(n), ...extra });
const numbers = async (run: number) => {
  const found: number[] = [];
  for await (const entry of readLog(sql, toolsetId, runs[run] ?? "")) found.push(entry.n);
  return found;
};

test("what waits together is one statement, whatever run it belongs to [journal: group commit]", async () => {
  await Promise.all([append(0, 1), append(1, 1), append(2, 1), append(0, 2)]);
  expect(lossy.statements).toBe(1);
  expect(await numbers(0)).toEqual([1, 2]);
});

test("while a statement is under way the next batch fills", async () => {
  const first = append(0, 1);
  await Promise.resolve();
  await Promise.resolve();
  const rest = [append(0, 2), append(1, 1), append(2, 1)];
  await Promise.all([first, ...rest]);
  expect(lossy.statements).toBe(2);
});

test("a record that waits for company is written with the next one, or by itself soon", async () => {
  const lazy = writer.appendLazily({ runId: runs[0] ?? "", n: 1, atMs: 1, record: slept(1) });
  const eager = append(0, 2);
  await Promise.all([lazy, eager]);
  expect(lossy.statements).toBe(1);
  await writer.appendLazily({ runId: runs[0] ?? "", n: 3, atMs: 3, record: slept(3) });
  expect(await numbers(0)).toEqual([1, 2, 3]);
});

test("a commit whose answer was lost is there once, and its waiter is told so [case d07]", async () => {
  lossy.loseAfter = 1;
  await Promise.all([append(0, 1), append(1, 1)]);
  expect(lossy.statements).toBe(2);
  expect([await numbers(0), await numbers(1)]).toEqual([[1], [1]]);
});

test("while the database is away everything waits in order, and nothing is lost [semantics 14.6]", async () => {
  lossy.loseBefore = 3;
  const writes = [append(0, 1), append(0, 2), append(1, 1)];
  await Promise.all(writes);
  expect(lossy.statements).toBeGreaterThanOrEqual(4);
  expect([await numbers(0), await numbers(1)]).toEqual([[1, 2], [1]]);
});

test("content that the database refuses fails its own run alone, and nothing is written behind the gap", async () => {
  const bad = runs[1] ?? "";
  lossy.refuse = (values) => (values[1] as string[]).includes(bad);
  const outcomes = await Promise.allSettled([append(0, 1), append(1, 1), append(2, 1)]);
  expect(outcomes.map((outcome) => outcome.status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
  lossy.refuse = undefined;
  await expect(append(1, 2)).rejects.toThrow("invalid byte sequence");
  expect([await numbers(0), await numbers(1), await numbers(2)]).toEqual([[1], [], [1]]);
});

test("once another took over nothing is written, and the waiter is told [case d05]", async () => {
  await takeOver(sql, incarnationId);
  await expect(append(0, 1)).rejects.toMatchObject({ code: "LeaseLost" });
  expect(await numbers(0)).toEqual([]);
});

test("closing ends the tries for a database that never comes back", async () => {
  lossy.loseBefore = Number.POSITIVE_INFINITY;
  const waiting = append(0, 1);
  await new Promise((resolve) => setTimeout(resolve, 20));
  writer.close();
  await expect(waiting).rejects.toMatchObject({ code: "LeaseLost" });
});

test("a status that was queued is hinted after its commit", async () => {
  await append(0, 1);
  expect(projected).toBe(0);
  await append(0, 2, { project: true });
  expect(projected).toBe(1);
});
