import { existsSync } from "node:fs";
import { readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type LedgerServer, startLedgerServer } from "../mcp/ledger-server.ts";
import { createDatabase } from "../postgres/postgres.ts";
import { DevFolder } from "./dev-process.ts";

/** Several starts, each with a database in its process. */
const TIMEOUT_MS = 180_000;
const META = { apiVersion: "holdpoint.dev/v1alpha1" };

let server: LedgerServer;
let folder: DevFolder;

beforeEach(async () => {
  server = await startLedgerServer();
  folder = await DevFolder.make();
});
afterEach(async () => {
  await folder.remove();
  await server.close();
});

function toolset(spec: object = {}): object {
  const servers = [{ name: "ledger", url: server.url }];
  const policies = [{ tools: ["ledger.write"], approval: "Required" }];
  return { ...META, kind: "Toolset", metadata: { name: "t" }, spec: { servers, policies, ...spec } };
}

function run(script: string, spec: object = {}): object {
  const text = `import { ledger } from "rewind:tools";\nimport { sleep } from "rewind";\n${script}`;
  return { ...META, kind: "Run", metadata: { name: "r1" }, spec: { toolset: { name: "t" }, script: text, ...spec } };
}

async function manifests(script: string, { spec = {}, toolset: changes = {} } = {}): Promise<void> {
  await folder.write("toolset.yaml", toolset(changes));
  await folder.write("run.yaml", run(script, spec));
}

const USES_SLEEP = "void sleep;";
const READS = `${USES_SLEEP}
export default async () => {
  await ledger.read({ value: 1 });
  await ledger.read({ value: 9007199254740993n });
  return { done: true };
};`;
const WRITES = `${USES_SLEEP}
export default async () => {
  await ledger.read({ value: 1 });
  await ledger.write({ value: "x" });
  return { done: true };
};`;

function tools(): string[] {
  return server.ledger.entries.map(({ tool }) => tool);
}

/** Every key had one effect, whatever was sent. */
function expectOneEffectEach(count: number): void {
  const effects = Object.values(server.ledger.effects());
  expect(effects).toEqual(Array.from({ length: count }, () => 1));
}

describe("how it ends", () => {
  test(
    "[architecture: locally] a run that succeeds: 0, its result on standard output; again: it had already run",
    async () => {
      await manifests(READS);
      const first = await folder.run();
      expect(first.code, first.stderr).toBe(0);
      expect(JSON.parse(first.stdout)).toEqual({ done: true });
      expect(first.stderr).toMatch(/toolset\/t pinned 2 tools as sha256:/);
      expect(first.stderr).toContain('call 1 ledger.read {"value":1}');
      expect(first.stderr).toContain('call 2 ledger.read {"value":9007199254740993}');
      expect(first.stderr).toContain("run/r1 succeeded after 2 calls");
      const again = await folder.run();
      expect(again.code).toBe(0);
      expect(again.stderr).toContain("run/r1 had already run: it succeeded");
      expect(tools()).toEqual(["read", "read"]);
      const changed = server.ledger.entries.at(-1)?.argumentsText;
      expect(changed).toContain("9007199254740993");
    },
    TIMEOUT_MS,
  );

  test(
    "[architecture: locally] -o json prints the final objects with their status, and nothing else, on standard output",
    async () => {
      await manifests(READS);
      const { code, stdout } = await folder.run("-o", "json");
      expect(code).toBe(0);
      const { kind, items } = JSON.parse(stdout);
      expect(kind).toBe("List");
      expect(items.map((item: { kind: string }) => item.kind)).toEqual(["Toolset", "Run"]);
      expect(items[0].status.digest).toMatch(/^sha256:/);
      expect(items[1].status).toMatchObject({ phase: "Succeeded", result: { done: true }, calls: { total: 2 } });
    },
    TIMEOUT_MS,
  );

  test(
    "[architecture: locally] a run that fails: 1, with its error; again: still 1, and nothing is called",
    async () => {
      await manifests(`${USES_SLEEP} export default async () => { await ledger.read({}); throw new Error("boom"); };`);
      const first = await folder.run();
      expect(first.code).toBe(1);
      expect(first.stderr).toMatch(/run\/r1 failed[\s\S]*ScriptThrew[\s\S]*boom/);
      const again = await folder.run();
      expect(again.code).toBe(1);
      expect(again.stderr).toContain("had already run: it failed");
      expect(tools()).toEqual(["read"]);
    },
    TIMEOUT_MS,
  );

  test(
    "[semantics 3.2] a script that does not type-check: 1, with its line, and nothing is called",
    async () => {
      await manifests(`${USES_SLEEP}\nexport default async () => {\n  await ledger.reed({});\n};`);
      const { code, stderr } = await folder.run();
      expect(code).toBe(1);
      expect(stderr).toContain("ScriptInvalid");
      expect(stderr).toMatch(/line 5|5:/);
      expect(tools()).toEqual([]);
    },
    TIMEOUT_MS,
  );

  test(
    "[architecture: locally] a Toolset that cannot be pinned in time: 1, and why",
    async () => {
      await manifests(READS, { toolset: { servers: [{ name: "ledger", url: "http://127.0.0.1:9/mcp" }] } });
      const { code, stderr } = await folder.run("--pin-timeout", "8s");
      expect(code).toBe(1);
      expect(stderr).toMatch(/toolset\/t is not pinned: ServerUnreachable/);
    },
    TIMEOUT_MS,
  );

  test("[architecture: locally] a manifest that is refused: 2, and nothing was stored", async () => {
    await manifests(READS, { toolset: { serverss: [] } });
    const { code, stdout, stderr } = await folder.run("-o", "json");
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(/toolset\.yaml:\d+ spec\.serverss: unknown field/);
    expect(existsSync(join(folder.path, ".holdpoint"))).toBe(false);
  });

  test(
    "[semantics 3.11] timers are waited for",
    async () => {
      await manifests(`export default async () => { await ledger.read({}); await sleep("3s"); return 1; };`);
      const { code, stderr } = await folder.run();
      expect(code, stderr).toBe(0);
    },
    TIMEOUT_MS,
  );
});

describe("several and odd manifests", () => {
  test(
    "several runs in one command: it ends when all have; what is left to decide makes it 3",
    async () => {
      await folder.write("toolset.yaml", toolset());
      const other = { ...run(READS), metadata: { name: "r2" } };
      await folder.write("run.yaml", run(WRITES), other);
      const first = await folder.run();
      expect(first.code, first.stderr).toBe(3);
      expect(first.stderr).toContain("run/r2 succeeded");
      const second = await folder.run("--approve", "all", "-o", "json");
      expect(second.code, second.stderr).toBe(0);
      expect(second.stderr).toContain("run/r2 had already run");
      expect(JSON.parse(second.stdout).items).toHaveLength(3);
      expect(tools().sort()).toEqual(["read", "read", "read", "write"]);
    },
    TIMEOUT_MS,
  );

  test(
    "[semantics 7.10] a suspended Toolset sends nothing: 3, and what to do",
    async () => {
      await manifests(READS, { toolset: { suspend: true } });
      const { code, stderr } = await folder.run();
      expect(code, stderr).toBe(3);
      expect(stderr).toContain("set spec.suspend to false");
      expect(tools()).toEqual([]);
      await manifests(READS);
      expect((await folder.run()).code).toBe(0);
    },
    TIMEOUT_MS,
  );

  test(
    "[semantics 8.3] a Secret among the files is written nowhere, and console lines are shown as one line each",
    async () => {
      const secret = {
        apiVersion: "v1",
        kind: "Secret",
        metadata: { name: "s" },
        stringData: { token: "planted-7f3a" },
      };
      await folder.write("toolset.yaml", toolset(), secret);
      await folder.write(
        "run.yaml",
        run(`${USES_SLEEP}\nexport default async () => { console.log("a\\nb\\u202e"); await ledger.read({}); };`),
      );
      const { code, stdout, stderr } = await folder.run();
      expect(code, stderr).toBe(0);
      expect(stderr).toContain("console.log: a\\nb\\u202e");
      expect(stdout + stderr).not.toContain("planted");
      expect(await filesHolding(join(folder.path, ".holdpoint"), "planted-7f3a")).toEqual([]);
      expect(await filesHolding(join(folder.path, ".holdpoint"), "cGxhbnRlZC03ZjNh")).toEqual([]);
    },
    TIMEOUT_MS,
  );
});

describe("parked calls", () => {
  test(
    "[architecture: locally] without a terminal nothing is approved: 3, and how to decide; decisions in the file are taken",
    async () => {
      await manifests(WRITES);
      const waiting = await folder.run();
      expect(waiting.code, waiting.stderr).toBe(3);
      expect(waiting.stderr).toContain("run/r1 waits for a decision, and nothing was approved");
      expect(waiting.stderr).toContain("--approve all");
      const entry = /"2": \{action: Approve, by: "?([^",]+)"?, callDigest: "(sha256:\w+)"\}/.exec(waiting.stderr);
      expect(entry, waiting.stderr).not.toBeNull();
      expect(tools()).toEqual(["read"]);
      const decisions = { "2": { action: "Approve", by: entry?.[1], callDigest: entry?.[2] } };
      await manifests(WRITES, { spec: { decisions } });
      const decided = await folder.run();
      expect(decided.code, decided.stderr).toBe(0);
      expect(tools()).toEqual(["read", "write"]);
      expectOneEffectEach(2);
    },
    TIMEOUT_MS,
  );

  test(
    "[architecture: locally] --approve all runs to the end, --approve none never asks",
    async () => {
      await manifests(WRITES);
      expect((await folder.run("--approve", "none")).code).toBe(3);
      const { code, stderr } = await folder.run("--approve", "all");
      expect(code, stderr).toBe(0);
      expect(stderr).toContain("run/r1 goes on where it stopped");
      expect(stderr).not.toContain("call 1 ledger.read");
      expectOneEffectEach(2);
    },
    TIMEOUT_MS,
  );

  test(
    "[case c07] the terminal shows the whole arguments and asks; a approves",
    async () => {
      const long = `${"y".repeat(3_000)}!the-end`;
      await manifests(WRITES.replace('"x"', JSON.stringify(long)));
      const dev = folder.startInTerminal();
      await dev.says("a(pprove)", "stdout");
      expect(dev.stdout).toContain("ledger.write");
      expect(dev.stdout.replaceAll(/\s/g, "")).toContain(long);
      dev.type("x\n");
      await dev.says("Type a, r, d or q", "stdout");
      dev.type("d\n");
      await dev.says("digest   sha256:", "stdout");
      dev.type("a\n");
      expect(await dev.ended(), dev.stdout).toBe(0);
      expectOneEffectEach(2);
    },
    TIMEOUT_MS,
  );

  test(
    "r rejects with a reason: the script gets a ToolError, and the run fails with it",
    async () => {
      await manifests(WRITES);
      const dev = folder.startInTerminal();
      await dev.says("a(pprove)", "stdout");
      dev.type("r\n");
      await dev.says("why?", "stdout");
      dev.type("not today\n");
      expect(await dev.ended(), dev.stdout).toBe(1);
      expect(dev.stdout).toContain("not today");
      expect(tools()).toEqual(["read"]);
    },
    TIMEOUT_MS,
  );

  test(
    "q quits with 3, and the same command asks again",
    async () => {
      await manifests(WRITES);
      const dev = folder.startInTerminal();
      await dev.says("a(pprove)", "stdout");
      dev.type("q\n");
      expect(await dev.ended(), dev.stdout).toBe(3);
      const again = folder.startInTerminal();
      await again.says("a(pprove)", "stdout");
      again.type("a\n");
      expect(await again.ended(), again.stdout).toBe(0);
      expectOneEffectEach(2);
    },
    TIMEOUT_MS,
  );

  test(
    "Ctrl-C at the question stops in order",
    async () => {
      await manifests(WRITES);
      const dev = folder.startInTerminal();
      await dev.says("a(pprove)", "stdout");
      dev.type("\u0003");
      expect(await dev.ended(), dev.stdout).toBe(130);
      expect(dev.stdout).toContain("The same command goes on from here");
    },
    TIMEOUT_MS,
  );
});

describe("going on where it stopped", () => {
  test(
    "[semantics 5.2] SIGKILL between send and answer: the same key again, one effect",
    async () => {
      await manifests(READS);
      server.behaviour.faults.push({ kind: "hold", tool: "read" });
      const dev = folder.start();
      await dev.says("call 1 ledger.read");
      await waitUntil(() => server.waiting() === 1);
      await dev.kill("SIGKILL");
      server.release();
      const { code, stderr } = await folder.run();
      expect(code, stderr).toBe(0);
      expect(stderr).toContain("run/r1 goes on where it stopped");
      const keys = server.ledger.entries.map(({ key }) => key.split("/")[1]);
      expect(keys).toEqual(["1", "1", "2"]);
      expectOneEffectEach(2);
    },
    TIMEOUT_MS,
  );

  test(
    "[case c03] SIGKILL while parked: nothing before the frontier is sent again",
    async () => {
      await manifests(WRITES);
      const dev = folder.startInTerminal();
      await dev.says("a(pprove)", "stdout");
      await dev.kill("SIGKILL");
      const { code, stderr } = await folder.run("--approve", "all");
      expect(code, stderr).toBe(0);
      expect(tools()).toEqual(["read", "write"]);
    },
    TIMEOUT_MS,
  );

  test(
    "[semantics 14.7] SIGINT lets a call in flight end, and the same command goes on",
    async () => {
      await manifests(READS);
      server.behaviour.faults.push({ kind: "hold", tool: "read" });
      const dev = folder.start();
      await waitUntil(() => server.waiting() === 1);
      dev.signal("SIGINT");
      await dev.says("Stopping");
      server.release();
      expect(await dev.ended(), dev.stderr).toBe(130);
      expect(dev.stderr).toContain("The same command goes on from here");
      const { code, stderr } = await folder.run();
      expect(code, stderr).toBe(0);
      expect(tools()).toEqual(["read", "read"]);
    },
    TIMEOUT_MS,
  );

  test(
    "a second SIGINT ends it at once, and the same command goes on with the same key",
    async () => {
      await manifests(READS);
      server.behaviour.faults.push({ kind: "hold", tool: "read" });
      const dev = folder.start();
      await waitUntil(() => server.waiting() === 1);
      dev.signal("SIGINT");
      await dev.says("Stopping");
      dev.signal("SIGINT");
      expect(await dev.ended()).toBe(130);
      expect(server.waiting()).toBe(1);
      server.release();
      const { code, stderr } = await folder.run();
      expect(code, stderr).toBe(0);
      expectOneEffectEach(2);
    },
    TIMEOUT_MS,
  );

  test(
    "[architecture: locally] with --database, a lost state folder costs nothing: the run goes on by name and spec",
    async () => {
      const database = await createDatabase();
      try {
        await manifests(WRITES);
        const first = await folder.run("--database", database.url);
        expect(first.code, first.stderr).toBe(3);
        await rm(join(folder.path, ".holdpoint"), { recursive: true });
        const { code, stderr } = await folder.run("--database", database.url, "--approve", "all");
        expect(code, stderr).toBe(0);
        expect(tools()).toEqual(["read", "write"]);
        await rm(join(folder.path, ".holdpoint"), { recursive: true });
        const again = await folder.run("--database", database.url, "--approve", "all");
        expect(again.code, again.stderr).toBe(0);
        expect(again.stderr).toContain("had already run");
        expect(tools()).toEqual(["read", "write"]);
      } finally {
        await database.drop();
      }
    },
    TIMEOUT_MS,
  );

  test(
    "[journal: same place] a state folder is one process's",
    async () => {
      await manifests(READS);
      server.behaviour.faults.push({ kind: "hold", tool: "read" });
      const dev = folder.start();
      await waitUntil(() => server.waiting() === 1);
      const other = await folder.run();
      expect(other.code).toBe(2);
      expect(other.stderr).toContain("StateFolderInUse");
      server.release();
      expect(await dev.ended(), dev.stderr).toBe(0);
    },
    TIMEOUT_MS,
  );

  test(
    "[semantics 14.5] another spec under the same name is a new run; the old one is cancelled",
    async () => {
      await manifests(WRITES);
      expect((await folder.run()).code).toBe(3);
      await manifests(READS);
      const { code, stdout, stderr } = await folder.run();
      expect(code, stderr).toBe(0);
      expect(JSON.parse(stdout)).toEqual({ done: true });
      expect(tools()).toEqual(["read", "read", "read"]);
    },
    TIMEOUT_MS,
  );
});

/** The files below a folder that hold the text. */
async function filesHolding(path: string, text: string): Promise<string[]> {
  const entries = await readdir(path, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const held = await Promise.all(files.map(async (file) => ((await readFile(file)).includes(text) ? [file] : [])));
  return held.flat();
}

async function waitUntil(condition: () => boolean): Promise<void> {
  const deadlineMs = performance.now() + 60_000;
  while (!condition()) {
    if (performance.now() > deadlineMs) throw new Error("it did not come to pass within a minute");
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
