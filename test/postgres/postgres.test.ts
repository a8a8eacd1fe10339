import { spawn } from "node:child_process";
import pg from "pg";
import { expect, test } from "vitest";
import { eventually } from "../dispatcher/eventually.ts";
import { createDatabase, startPostgres } from "./postgres.ts";
import { choosePostgres, type PostgresSurroundings } from "./providers.ts";

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

test("when its owner is killed nothing is left running", async () => {
  const code = `import { startPostgres } from ${JSON.stringify(new URL("./postgres.ts", import.meta.url).href)}; const s = await startPostgres(); console.log(s.url); setInterval(() => {}, 1000);`;
  const owner = spawn(process.execPath, ["--input-type=module", "-e", code], { stdio: ["ignore", "pipe", "inherit"] });
  const url = await new Promise<string>((resolve) =>
    owner.stdout.once("data", (chunk) => resolve(String(chunk).trim())),
  );
  const answers = async () => {
    const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 500 });
    client.on("error", () => {});
    try {
      await client.connect();
      await client.end();
      return true;
    } catch {
      return false;
    }
  };
  expect(await answers()).toBe(true);
  owner.kill("SIGKILL");
  await eventually("the server is gone", async () => !(await answers()));
});

test("a crashed server comes back with what was committed", async () => {
  const server = await startPostgres();
  const ask = async (statement: string) => {
    const client = new pg.Client(server.url);
    client.on("error", () => {});
    await client.connect();
    const { rows } = await client.query(statement);
    await client.end();
    return rows;
  };
  await ask("create table kept as select 7 as n");
  await server.stop("immediate");
  await server.start();
  expect(await ask("select n from kept")).toEqual([{ n: 7 }]);
  await server.close();
});
