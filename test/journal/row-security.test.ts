import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { newId } from "../../src/base/ids.ts";
import { appendRecords } from "../../src/journal/append.ts";
import { claimRuns } from "../../src/journal/claims.ts";
import { registerIncarnation } from "../../src/journal/incarnations.ts";
import { migrate } from "../../src/journal/migrate.ts";
import { recordPinAttempt } from "../../src/journal/pins.ts";
import { dispatcherGroupName, ensureToolsetRole } from "../../src/journal/roles.ts";
import { admitRun, sendSignal } from "../../src/journal/runs.ts";
import type { Sql } from "../../src/journal/sql.ts";
import { observeToolset } from "../../src/journal/toolsets.ts";
import { Rig } from "../dispatcher/rig.ts";
import { startLedgerServer } from "../mcp/ledger-server.ts";
import { createDatabase } from "../postgres/postgres.ts";
import { type JournalUnderTest, journalSuite } from "./journal.suite.ts";
import { openAs, ordinaryOwner, RoleConnections, withUser } from "./role-connections.ts";

journalSuite("Postgres, controller and dispatchers as ordinary roles", async (): Promise<JournalUnderTest> => {
  const database = await ordinaryOwner("createrole");
  const sql = openAs(database.url);
  const roles = new RoleConnections(sql, database.url);
  return {
    sql,
    dispatcherSql: (toolsetId) => roles.open(toolsetId),
    close: async () => {
      await roles.close();
      await sql.close();
      await database.drop();
    },
  };
});

const KEYED = ["toolsets", "pins", "listings", "incarnations", "runs", "log", "holds", "signals", "projections"];

/** Fills every table for one Toolset. */
async function populate(admin: Sql): Promise<number> {
  const { toolsetId } = await observeToolset(admin, {
    namespace: "agents",
    name: `ts-${newId()}`,
    uid: "u",
    generation: 1,
    specText: "{}",
    suspended: false,
    pinReason: "a",
  });
  const me = await registerIncarnation(admin, { toolsetId, place: "p", leaseMs: 60_000 });
  const pin = { digest: "sha256:p", contentText: "{}", notesText: "{}" };
  await recordPinAttempt(admin, me, { toolsetId, pinWanted: 1, reportText: "{}", pin });
  const { runId } = await admitRun(admin, {
    toolsetId,
    namespace: "agents",
    name: "r",
    uid: newId(),
    generatedName: true,
    specDigest: "d",
    pinDigest: "sha256:p",
    requester: "bob",
    script: "x",
  });
  await claimRuns(admin, me, 1);
  const shown = { actions: ["Approve"], callDigest: "d", shownText: "{}" };
  const hold = { holdId: "1", seq: 1, tool: "g.t", reason: "ApprovalRequired", ...shown };
  const record = { kind: "parked", seq: 1, holdId: "1", reason: "ApprovalRequired" } as const;
  await appendRecords(admin, me, [{ runId, n: 1, atMs: 1, record, hold, project: true }]);
  await sendSignal(admin, runId, "s", "1");
  await admin.query(
    "insert into holdpoint.listings (toolset_id, server, server_digest, protocol, tools) values ($1, 's', 'd', 'p', '[]')",
    [toolsetId],
  );
  return toolsetId;
}

describe("a dispatcher under its Toolset's role", () => {
  let database: { url: string; drop: () => Promise<void> };
  let admin: Sql;
  let roles: RoleConnections;
  let mine: number;
  let theirs: number;
  let own: Sql;

  beforeAll(async () => {
    database = await createDatabase();
    admin = openAs(database.url);
    roles = new RoleConnections(admin, database.url);
    [mine, theirs] = [await populate(admin), await populate(admin)];
    own = await roles.open(mine);
  });
  afterAll(async () => {
    await roles.close();
    await admin.close();
    await database.drop();
  });

  const rowsOf = async (table: string, toolsetId: number) =>
    (
      await admin.query<{ row: object }>(
        `select to_jsonb(t) as row from holdpoint.${table} t where toolset_id = $1 order by t::text`,
        [toolsetId],
      )
    ).rows.map(({ row }) => row);

  /** What came of a statement: how many rows it touched, or that it was refused. */
  const attempt = async (sql: Sql, statement: string, values: unknown[] = []): Promise<number | "refused"> => {
    try {
      return (await sql.query(statement, values)).rowCount;
    } catch (error) {
      // 42501: a missing right, or a row that the policy does not take.
      if ((error as { code?: unknown }).code === "42501") return "refused";
      throw error;
    }
  };

  /** Columns that a dispatcher may update, so that it is the policy that stops it. */
  const WRITABLE: Record<string, string> = {
    toolsets: "pin_digest",
    incarnations: "dead",
    runs: "owner",
    holds: "outcome",
  };
  const VERBS: Record<string, (table: string) => { statement: string; withRow?: true }> = {
    select: (table) => ({ statement: `select 1 from holdpoint.${table} where toolset_id = $1` }),
    "select for update": (table) => ({
      statement: `select 1 from holdpoint.${table} where toolset_id = $1 for update`,
    }),
    update: (table) => {
      const column = WRITABLE[table] ?? "toolset_id";
      return { statement: `update holdpoint.${table} set ${column} = ${column} where toolset_id = $1` };
    },
    delete: (table) => ({ statement: `delete from holdpoint.${table} where toolset_id = $1` }),
    insert: (table) => ({
      statement: `insert into holdpoint.${table} overriding system value
        select * from jsonb_populate_record(null::holdpoint.${table}, $1::jsonb)`,
      withRow: true,
    }),
    "insert on conflict": (table) => ({
      statement: `insert into holdpoint.${table} overriding system value
        select * from jsonb_populate_record(null::holdpoint.${table}, $1::jsonb) on conflict do nothing`,
      withRow: true,
    }),
  };
  const matrix = KEYED.flatMap((table) => Object.keys(VERBS).map((verb) => [verb, table] as const));

  const nothingByVerb = async (sql: Sql, verb: string, table: string) => {
    const before = await rowsOf(table, theirs);
    expect(before.length).toBeGreaterThan(0);
    const { statement, withRow } = VERBS[verb]?.(table) ?? { statement: "" };
    const outcome = await attempt(sql, statement, [withRow ? JSON.stringify(before[0]) : theirs]);
    expect(outcome === 0 || outcome === "refused").toBe(true);
    if (withRow) expect(outcome).toBe("refused");
    expect(await rowsOf(table, theirs)).toEqual(before);
  };

  test.each(matrix)("%s on another Toolset's %s comes to nothing", async (verb, table) => {
    await nothingByVerb(own, verb, table);
  });

  test("every table that is keyed by Toolset is under forced row security", async () => {
    const { rows } = await admin.query<{ name: string; secured: boolean }>(
      `select c.relname as name, c.relrowsecurity and c.relforcerowsecurity as secured from pg_class c join pg_attribute a on a.attrelid = c.oid
       where c.relnamespace = 'holdpoint'::regnamespace and c.relkind in ('r', 'p') and a.attname = 'toolset_id' order by 1`,
    );
    expect(rows.map(({ name }) => name).sort()).toEqual([...KEYED].sort());
    expect(rows.filter(({ secured }) => !secured)).toEqual([]);
  });

  test("it sees its own rows, and those alone", async () => {
    for (const table of KEYED.filter((name) => name !== "projections" && name !== "listings")) {
      const { rows } = await own.query<{ toolset_id: number }>(`select toolset_id from holdpoint.${table}`);
      expect(rows, table).not.toEqual([]);
      expect(new Set(rows.map((row) => row.toolset_id)), table).toEqual(new Set([mine]));
    }
  });

  const FORBIDDEN: [what: string, statement: string][] = [
    ["deletes nothing", "delete from holdpoint.runs"],
    ["forgets no log", "delete from holdpoint.log"],
    ["changes no log", "update holdpoint.log set payload = null"],
    ["empties nothing", "truncate holdpoint.log"],
    ["decides nothing", "update holdpoint.holds set action = 'Approve', decided_by = 'ann', decided_at = now()"],
    [
      "opens no hold that is decided",
      "insert into holdpoint.holds (toolset_id, run_id, hold_id, seq, tool, reason, actions, call_digest, shown, action) select toolset_id, run_id, '2', 1, '', '', '{}', '', '', 'Approve' from holdpoint.runs",
    ],
    ["changes no script", "update holdpoint.runs set script = '\"y\"'"],
    ["changes no requester", "update holdpoint.runs set requester = 'ann'"],
    ["moves no run elsewhere", "update holdpoint.runs set toolset_id = 1"],
    ["admits no run", "insert into holdpoint.runs select * from holdpoint.runs"],
    ["sends no signal", "update holdpoint.signals set payload = '2'"],
    ["changes no spec", "update holdpoint.toolsets set spec = '{}'"],
    ["suspends nothing", "update holdpoint.toolsets set suspended = false"],
    ["changes no pin", "update holdpoint.pins set content = '{}'"],
    ["undrains nothing", "update holdpoint.incarnations set draining = false"],
    ["reads no queue of statuses", "select * from holdpoint.projections"],
    ["does not read whose journal it is", "select * from holdpoint.installation"],
    ["does not read migrations", "select * from holdpoint.migrations"],
    ["makes no table", "create table holdpoint.mine (a int)"],
  ];
  test.each(FORBIDDEN)("it %s, not even among its own", async (_what, statement) => {
    expect(await attempt(own, statement)).toBe("refused");
  });

  test("a search_path of its own making does not change who it is", async () => {
    await admin.query("create schema evil");
    await admin.query("create function evil.sha256(bytea) returns bytea language sql return '\\x00'::bytea");
    await admin.query(
      "create function evil.split_part(text, text, int) returns text language sql as 'select ''1''::text'",
    );
    await admin.query("grant usage on schema evil to public");
    const seen = await own.transaction(async (transaction) => {
      await transaction.query("set local search_path = evil, pg_catalog");
      return await transaction.query<{ toolset_id: number }>("select toolset_id from holdpoint.runs");
    });
    expect(seen.rows).toEqual([{ toolset_id: mine }]);
  });

  test("a role of that number from another journal on the server sees nothing, whatever it was granted", async () => {
    const { pathname } = new URL(database.url);
    const role = `holdpoint_toolset_${mine}_00000000`;
    await admin.query(`drop role if exists ${role}`);
    await admin.query(`create role ${role} login in role ${dispatcherGroupName(pathname.slice(1))}`);
    const stranger = openAs(withUser(database.url, role, "x"));
    try {
      expect((await stranger.query("select 1 from holdpoint.runs")).rows).toEqual([]);
      expect((await stranger.query("select 1 from holdpoint.toolsets")).rows).toEqual([]);
    } finally {
      await stranger.close();
      await admin.query(`drop role ${role}`);
    }
  });

  test("made again it is the same role, and lost rights come back", async () => {
    const first = await ensureToolsetRole(admin, mine);
    expect(first).toMatchObject({ created: false, shared: false });
    await admin.query(
      `revoke all on holdpoint.log from ${dispatcherGroupName(new URL(database.url).pathname.slice(1))}`,
    );
    expect(await attempt(own, "select 1 from holdpoint.log")).toBe("refused");
    const calls = await Promise.all([1, 2, 3].map(() => ensureToolsetRole(admin, mine, "secret")));
    expect(new Set(calls.map(({ role }) => role))).toEqual(new Set([first.role]));
    expect(await attempt(own, "select 1 from holdpoint.log")).toBe(1);
  });

  test("the server never sees its password, only a verifier", async () => {
    const { role } = await ensureToolsetRole(admin, mine, "swordfish");
    const { rows } = await admin.query<{ rolpassword: string }>(
      "select rolpassword from pg_authid where rolname = $1",
      [role],
    );
    expect(rows[0]?.rolpassword).toMatch(/^SCRAM-SHA-256\$4096:/);
    await expect(ensureToolsetRole(admin, mine, "a' superuser --")).rejects.toThrow(RangeError);
    await expect(ensureToolsetRole(admin, 1.5)).rejects.toThrow(RangeError);
  });

  test("the policy alone parts Toolsets: with every right there is, another's rows stay out of reach", async () => {
    await admin.query(
      `grant all on all tables in schema holdpoint to ${dispatcherGroupName(new URL(database.url).pathname.slice(1))}`,
    );
    for (const [verb, table] of matrix) await nothingByVerb(own, verb, table);
    // A Toolset's own number is generated and never updated.
    for (const table of KEYED.filter((name) => name !== "toolsets"))
      expect(await attempt(own, `update holdpoint.${table} set toolset_id = $1`, [theirs]), table).toBe("refused");
  });
});

test("where no role may be made, dispatchers share the controller's, and it is said why", async () => {
  const database = await ordinaryOwner("nocreaterole");
  const sql = openAs(database.url);
  try {
    await migrate(sql);
    expect(await ensureToolsetRole(sql, 1, "x")).toEqual({
      role: new URL(database.url).username,
      created: false,
      shared: true,
      reason: expect.stringContaining("permission denied"),
    });
  } finally {
    await sql.close();
    await database.drop();
  }
});

test("a dispatcher process pins, claims, calls, parks and ends runs under its role", async () => {
  const server = await startLedgerServer({
    tools: [
      { name: "read", inputSchema: { type: "object" } },
      { name: "ask", inputSchema: { type: "object" } },
    ],
  });
  const rig = await Rig.open();
  try {
    await rig.toolset({
      servers: [{ name: "app", url: server.url }],
      policies: [{ tools: ["app.ask"], approval: "Required" }],
    });
    const roles = new RoleConnections(rig.sql, rig.databaseUrl);
    const dispatcher = rig.dispatcher({ databaseUrl: await roles.url(rig.toolsetId) });
    const { runId } = await rig.run(
      'import { app } from "rewind:tools"; import { signal } from "rewind"; export default async () => { await app.read({}); await app.ask({}); return await signal("go"); };',
    );
    await rig.resting(runId, "Parked");
    expect(await rig.decide(runId, "2", "Approve")).toBe("taken");
    await rig.signal(runId, "go", 7);
    expect(await rig.finished(runId)).toMatchObject({ phase: "Succeeded", resultText: "7" });
    const { rows } = await rig.sql.query<{ usename: string }>(
      "select distinct usename from pg_stat_activity where datname = current_database() and usename like 'holdpoint_toolset_%'",
    );
    expect(rows).toHaveLength(1);
    expect(dispatcher.output()).not.toContain("permission denied");
    await dispatcher.kill("SIGTERM");
  } finally {
    await rig.close();
    await server.close();
  }
}, 120_000);
