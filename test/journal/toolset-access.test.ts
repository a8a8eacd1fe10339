import { afterEach, expect, test } from "vitest";
import type { Logger } from "../../src/base/log.ts";
import { migrate } from "../../src/journal/migrate.ts";
import { openPostgres } from "../../src/journal/postgres.ts";
import { toolsetRoleName } from "../../src/journal/roles.ts";
import type { Sql } from "../../src/journal/sql.ts";
import { ToolsetAccess } from "../../src/journal/toolset-access.ts";
import { createDatabase } from "../postgres/postgres.ts";
import { openAs, ordinaryOwner } from "./role-connections.ts";

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

/** A journal on a database, and what was warned of. */
async function accessTo(
  database: { url: string; drop: () => Promise<void> },
  url = database.url,
): Promise<{ access: ToolsetAccess; sql: Sql; warnings: { reason: string }[] }> {
  closing.push(() => database.drop());
  const sql = openAs(database.url);
  closing.push(() => sql.close());
  await migrate(sql);
  const warnings: { reason: string }[] = [];
  const log = { warn: (about: { reason: string }) => warnings.push(about) } as unknown as Logger;
  return { access: new ToolsetAccess({ sql, url, log }), sql, warnings };
}

const userOf = async (url: string) => {
  const sql = openPostgres({ url, connectionsMax: 1, onConnectionError: () => {} });
  try {
    return (await sql.query<{ user: string }>("select current_user::text as user")).rows[0]?.user;
  } finally {
    await sql.close();
  }
};

test("dispatchers are sent to the same place under their Toolset's role, the same however often it is asked", async () => {
  const database = await createDatabase();
  const { access, warnings } = await accessTo(database);
  const [first, again, other] = [await access.urlFor(7), await access.urlFor(7), await access.urlFor(8)];
  const name = new URL(database.url).pathname.slice(1);
  expect(await userOf(first)).toBe(toolsetRoleName(name, 7));
  expect(await userOf(other)).toBe(toolsetRoleName(name, 8));
  expect(again).toBe(first);
  expect(new URL(other).password).not.toBe(new URL(first).password);
  expect(new URL(first).password.length).toBeGreaterThanOrEqual(32);
  expect(warnings).toEqual([]);
});

test("a database that not everybody may enter lets the Toolset's role in", async () => {
  const database = await createDatabase();
  const { access, sql, warnings } = await accessTo(database);
  await sql.query(`revoke connect on database "${new URL(database.url).pathname.slice(1)}" from public`);
  expect(await userOf(await access.urlFor(7))).toMatch(/^holdpoint_toolset_7_/);
  expect(warnings).toEqual([]);
});

test("where roles cannot be made the controller's is shared, which is said once for each Toolset", async () => {
  const database = await ordinaryOwner("nocreaterole");
  const { access, warnings } = await accessTo(database);
  expect([await access.urlFor(7), await access.urlFor(7)]).toEqual([database.url, database.url]);
  expect(warnings).toMatchObject([
    { toolsetId: 7, role: new URL(database.url).username, reason: expect.stringContaining("permission denied") },
  ]);
});

test("where the role is not let in the controller's is shared; a database that is away or full says nothing of that", async () => {
  const database = await createDatabase();
  const { access, sql, warnings } = await accessTo(database);
  const role = new URL(await access.urlFor(7)).username;
  await sql.query(`alter role ${role} connection limit 0`);
  await expect(access.urlFor(7)).rejects.toMatchObject({ code: "53300" });
  await sql.query(`alter role ${role} connection limit -1`);
  expect(new URL(await access.urlFor(7)).username).toBe(role);
  const group = role.replace(/toolset_7/, "dispatcher");
  await sql.query(`revoke connect on database "${new URL(database.url).pathname.slice(1)}" from public, ${group}`);
  expect(await access.urlFor(7)).toBe(database.url);
  expect(warnings).toMatchObject([{ role, reason: expect.stringContaining("permission denied for database") }]);

  const nowhere = new URL(database.url);
  nowhere.port = "1";
  const away = new ToolsetAccess({ sql, url: nowhere.href, log: { warn: () => {} } as unknown as Logger });
  await expect(away.urlFor(7)).rejects.toMatchObject({ code: "ECONNREFUSED" });
});
