import { spawn } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import pg from "pg";
import { expect, test } from "vitest";
import { eventually } from "../dispatcher/eventually.ts";
import { ask, startBinaries } from "./own-server.ts";
import { createDatabase, startPostgres } from "./postgres.ts";
import { choosePostgres, type PostgresSurroundings } from "./providers.ts";

/** Such a server is not the tests' own: nobody here stops it. */
const isHanded = Boolean(process.env["HOLDPOINT_TEST_DATABASE_URL"]);

const nothing: PostgresSurroundings = {
  handedUrl: undefined,
  binaryFolders: [],
  hasServer: () => false,
  dockerAnswers: () => false,
};

test("a handed URL goes before binaries, and those before a container", () => {
  const all: PostgresSurroundings = {
    handedUrl: "postgres://x",
    binaryFolders: ["/a", "/b"],
    hasServer: (folder) => folder === "/b",
    dockerAnswers: () => true,
  };
  expect(choosePostgres(all)).toEqual({ kind: "handed", url: "postgres://x" });
  expect(choosePostgres({ ...all, handedUrl: undefined })).toEqual({ kind: "binaries", folder: "/b" });
  expect(choosePostgres({ ...all, handedUrl: "", hasServer: () => false })).toEqual({ kind: "docker" });
  expect(() => choosePostgres(nothing)).toThrow(/install it, start a container engine, or set/);
});

test("each database is new and of its own", async () => {
  const [left, right] = await Promise.all([createDatabase(), createDatabase()]);
  const client = new pg.Client(left.url);
  await client.connect();
  await client.query("create table here (n int)");
  await client.end();
  const other = new pg.Client(right.url);
  await other.connect();
  await expect(other.query("select * from here")).rejects.toThrow(/does not exist/);
  await other.end();
  await Promise.all([left.drop(), right.drop()]);
});

test.skipIf(isHanded)("when its owner is killed nothing is left running", async () => {
  const code = `import { startPostgres } from ${JSON.stringify(new URL("./postgres.ts", import.meta.url).href)}; const s = await startPostgres(); console.log(s.url); setInterval(() => {}, 1000);`;
  const owner = spawn(process.execPath, ["--input-type=module", "-e", code], { stdio: ["ignore", "pipe", "inherit"] });
  const url = await new Promise<string>((resolve) =>
    owner.stdout.once("data", (chunk) => resolve(String(chunk).trim())),
  );
  const answers = () => ask(url, "select true").catch(() => false);
  expect(await answers()).toBe(true);
  const folder = dirname(String(await ask(url, "show data_directory")));
  owner.kill("SIGKILL");
  await eventually("the server is gone", async () => !(await answers()));
  rmSync(folder, { recursive: true, force: true });
});

test.skipIf(isHanded)("a crashed server comes back with what was committed", async () => {
  const server = await startPostgres();
  try {
    await ask(server.url, "create table kept as select 7 as n");
    await server.stop("immediate");
    await server.start();
    expect(await ask(server.url, "select n from kept")).toBe(7);
  } finally {
    await server.close();
  }
});

test.skipIf(isHanded)(
  "a server has UTF8, room for many connections, and fsync unless it is told otherwise",
  async () => {
    const [safe, fast] = await Promise.all([startPostgres(), startPostgres({ fsync: false })]);
    try {
      expect(await ask(safe.url, "show server_encoding")).toBe("UTF8");
      expect(await ask(safe.url, "show max_connections")).toBe("200");
      expect(await ask(safe.url, "show fsync")).toBe("on");
      expect(await ask(fast.url, "show fsync")).toBe("off");
    } finally {
      await Promise.all([safe.close(), fast.close()]);
    }
  },
);

test("a server that ends at once is reported with its log", async () => {
  const binaries = mkdtempSync(join(tmpdir(), "holdpoint-binaries-"));
  for (const [name, body] of [
    ["initdb", "exit 0"],
    ["postgres", "echo something is wrong; exit 1"],
  ] as const)
    writeFileSync(join(binaries, name), `#!/bin/sh\n${body}\n`, { mode: 0o755 });
  // The server may be another user.
  chmodSync(binaries, 0o755);
  await expect(startBinaries(binaries, { fsync: true })).rejects.toThrow(/something is wrong/);
  rmSync(binaries, { recursive: true });
});
