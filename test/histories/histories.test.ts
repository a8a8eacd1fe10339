import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { HistoryFold } from "../../src/dispatcher/history.ts";
import { ReplayMismatch, replay } from "../../src/dispatcher/replay.ts";
import { createSandboxPool } from "../../src/sandbox/pool.ts";
import type { HistoryFile } from "./history-file.ts";

const folder = join(import.meta.dirname, "recorded");
const files = readdirSync(folder).filter((name) => name.endsWith(".json"));
const sandbox = createSandboxPool();

afterAll(() => sandbox.close());

const read = (name: string) => JSON.parse(readFileSync(join(folder, name), "utf8")) as HistoryFile;

async function replayed(history: HistoryFile) {
  const fold = new HistoryFold();
  for (const entry of history.entries) fold.add(entry);
  const { script, firstTurn } = await sandbox.start({
    runId: history.runId,
    moduleSource: history.moduleSource,
    ...(history.inputText === undefined ? {} : { inputText: history.inputText }),
    seed: history.seed,
    startedAtMs: history.startedAtMs,
    toolset: { name: "recorded", digest: "sha256:0" },
    groups: history.groups,
    limits: { memoryBytes: 64 * 1024 * 1024, cpuMs: 5_000, argumentBytes: 5 * 1024 * 1024, consoleBytes: 1024 * 1024 },
    behaviours: history.behaviours,
  });
  try {
    return await replay(script, firstTurn, history.startedAtMs, fold.history());
  } finally {
    script.dispose();
  }
}

test("there are recorded histories", () => {
  expect(files.length).toBeGreaterThanOrEqual(5);
});

test.each(files)("%s is replayed to the same calls and the same end [semantics 3.6]", async (name) => {
  const history = read(name);
  const { lastTurn, newLines, openTurns } = await replayed(history);
  expect(newLines).toEqual([]);
  expect(openTurns).toEqual([]);
  const { state } = lastTurn;
  if (history.phase === "Succeeded")
    expect(state).toEqual({
      kind: "returned",
      ...(history.resultText === undefined ? {} : { valueText: history.resultText }),
    });
  else expect(state.kind === "failed" && state.error.code).toBe(history.errorCode);
});

test.each(files)("%s no longer fits when one recorded argument is another", async (name) => {
  const history = read(name);
  const index = history.entries.findIndex((entry) => entry.kind === "called");
  const entries = history.entries.map((entry, at) =>
    at === index && entry.kind === "called" ? { ...entry, argumentsText: '{"other":true}' } : entry,
  );
  await expect(replayed({ ...history, entries })).rejects.toThrow(ReplayMismatch);
});
