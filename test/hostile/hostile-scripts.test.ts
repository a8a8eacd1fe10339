import { afterAll, describe, expect, it } from "vitest";
import { createSandboxPool } from "../../src/sandbox/pool.ts";
import type { TurnState } from "../../src/sandbox/port.ts";
import { result, scriptSpec } from "../sandbox/script-spec.ts";
import { hostileScripts } from "./hostile-scripts.ts";

const CPU_MS = 1_000;
const pool = createSandboxPool();
afterAll(() => pool.close());

function outcomeOf(state: TurnState): string {
  return state.kind === "failed" ? state.error.code : state.kind;
}

describe("hostile scripts end their own run, and only that [semantics 3.5]", () => {
  it("has at least 60 of them", () => expect(hostileScripts.length).toBeGreaterThanOrEqual(60));

  it.each(hostileScripts)("$name: $expected", { timeout: 60_000 }, async ({ name, source, expected, value }) => {
    const echo = "import { db } from 'rewind:tools'; export default async () => { for (let n = 1; ; n++) await db.find({ n }) }";
    const harmless = await pool.start(scriptSpec(echo, { runId: "harmless" }));
    const spec = scriptSpec(source, { runId: name, limits: { cpuMs: CPU_MS } });
    const { script, firstTurn } = await pool.start(spec);
    expect(outcomeOf(firstTurn.state)).toBe(expected);
    if (value !== undefined) expect(firstTurn.state).toMatchObject({ kind: "returned", valueText: value });
    // The limit, one native operation's overshoot, and the preempted attempt on the shared thread: below a second more.
    expect(firstTurn.cpuMs).toBeLessThan(CPU_MS + 1_000);
    const turn = await harmless.script.deliver(result(1, "1"));
    expect(turn.commands).toMatchObject([{ ref: 2, argumentsText: '{"n":2}' }]);
    script.dispose();
    harmless.script.dispose();
  });
});
