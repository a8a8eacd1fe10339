import { spawn } from "node:child_process";
import { expect, test } from "vitest";
import { createScriptChecker } from "../../src/typecheck/checker.ts";

/** A thousand by a thousand literal types, all compared: minutes of work in three lines. */
const HOSTILE = `
type Digit = 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9;
type Name = \`\${Digit}\${Digit}\${Digit}\`;
type Table = { [K in Name]: { [J in Name]: { k: K; j: J } } };
type Leaf<T> = T[keyof T];
const all: Leaf<Leaf<Table>> = null as never;
export const result: { k: Name; j: Name } & { q?: 1 } = all;
`;
const CHECKER = new URL("../../src/typecheck/checker.ts", import.meta.url).href;
const request = (script: string) => ({ declarationText: "", script });

test("[semantics 3.2] a hostile type program ends as ScriptCheckTooComplex in 10 s, and the next script is checked", {
  timeout: 60_000,
}, async () => {
  const checker = createScriptChecker();
  try {
    expect((await checker.check(request("export const warm = 1;"))).ok).toBe(true);
    const startedMs = performance.now();
    const hostile = checker.check(request(HOSTILE));
    const after = checker.check(request("export const result = 1;"));
    expect(await hostile).toMatchObject({ ok: false, code: "ScriptCheckTooComplex" });
    expect(performance.now() - startedMs).toBeLessThan(11_000);
    expect((await after).ok).toBe(true);
  } finally {
    await checker.close();
  }
});

test("[semantics 3.2] a check that needs too much memory ends alone", { timeout: 60_000 }, async () => {
  const checker = createScriptChecker({ memoryMebibytes: 160, timeLimitMs: 30_000 });
  try {
    const result = await checker.check(request(HOSTILE));
    expect(result).toMatchObject({ ok: false, code: "ScriptCheckTooComplex" });
    expect(result.ok ? "" : result.diagnostics[0]?.text).toContain("needed more than 160 MiB");
    expect((await checker.check(request("export const result = 1;"))).ok).toBe(true);
  } finally {
    await checker.close();
  }
});

test("a killed parent leaves no checking process behind", { timeout: 60_000 }, async () => {
  // The process's id is learnt where it is made; it is printed once the check occupies it.
  const source = `
    import childProcess from "node:child_process";
    import { syncBuiltinESMExports } from "node:module";
    const { fork } = childProcess;
    let child;
    childProcess.fork = (...given) => (child = fork(...given));
    syncBuiltinESMExports();
    const { createScriptChecker } = await import(${JSON.stringify(CHECKER)});
    const checker = createScriptChecker({ timeLimitMs: 60_000 });
    await checker.check({ declarationText: "", script: "export {};" });
    void checker.check({ declarationText: "", script: ${JSON.stringify(HOSTILE)} });
    setTimeout(() => console.log(child.pid), 1_000);
  `;
  const parent = spawn(process.execPath, ["--input-type=module", "-e", source], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const childId = Number(await new Promise((resolve) => parent.stdout.once("data", (text) => resolve(String(text)))));
  expect(isAlive(childId)).toBe(true);
  parent.kill("SIGKILL");
  const deadlineMs = performance.now() + 4_000;
  while (isAlive(childId) && performance.now() < deadlineMs) await new Promise((resolve) => setTimeout(resolve, 100));
  expect(isAlive(childId)).toBe(false);
});

function isAlive(processId: number): boolean {
  try {
    process.kill(processId, 0);
    return true;
  } catch {
    return false;
  }
}
