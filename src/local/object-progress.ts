import type { Condition } from "../api/conditions.ts";
import type { RunStatus } from "../api/run-status.ts";
import type { ToolsetStatus } from "../api/toolset-status.ts";
import { stringifyExact } from "../base/exact-json.ts";
import { visibleLines, visibleText } from "../base/visible-text.ts";
import type { StoredObject } from "../objects/store.ts";
import type { Voice } from "./voice.ts";

/** Tells the changes of objects' statuses: one line for each thing worth knowing, each once. */
export class ObjectProgress {
  readonly #voice: Voice;
  readonly #told = new Map<string, string>();

  constructor(voice: Voice) {
    this.#voice = voice;
  }

  tellToolset(toolset: StoredObject): void {
    const { conditions = [], digest, toolCount, tools = [], refused = [] } = (toolset.status ?? {}) as ToolsetStatus;
    const ready = conditions.find(({ type }) => type === "Ready");
    if (ready === undefined || ready.observedGeneration !== toolset.metadata.generation) return;
    const name = `toolset/${toolset.metadata.name}`;
    if (ready.status === "True") {
      const count = toolCount ?? tools.length;
      const left = refused.map((each) => `; ${each.tool} is left out: ${each.message}`).join("");
      this.#once(
        toolset,
        "ready",
        `${name} pinned ${count} ${count === 1 ? "tool" : "tools"} as ${digest?.slice(0, 19)}…${left}`,
      );
    } else if (ready.reason !== "Pinning") {
      this.#once(toolset, "ready", `${name} is not ready: ${ready.reason}: ${ready.message}`);
    }
  }

  tellRun(run: StoredObject): void {
    const status = (run.status ?? {}) as RunStatus;
    const name = `run/${run.metadata.name}`;
    for (const [type, show] of SHOWN_RUN_CONDITIONS) {
      const found = status.conditions?.find((each) => each.type === type);
      if (found !== undefined && show(found)) this.#once(run, type, `${name}: ${found.reason}: ${found.message}`);
    }
    if (status.phase === "Sleeping") this.#once(run, "phase", `${name} sleeps until ${status.wakeAt}`);
    if (status.phase === "Waiting") this.#once(run, "phase", `${name} waits: ${status.waitingFor}`);
  }

  /** How the run ended, with its error. */
  tellEnd(run: StoredObject, already: boolean): void {
    const { colors, say } = this.#voice;
    const { phase = "Pending", error, calls } = (run.status ?? {}) as RunStatus;
    const word = phase === "Cancelled" ? "was cancelled" : phase.toLowerCase();
    const counted = calls === undefined ? "" : ` after ${calls.total} ${calls.total === 1 ? "call" : "calls"}`;
    const color = phase === "Succeeded" ? colors.green : colors.red;
    const again = already ? " A new metadata.name runs it again." : "";
    say(color(`run/${run.metadata.name} ${already ? "had already run: it " : ""}${word}${counted}.${again}`));
    if (error === undefined) return;
    const place =
      error.line === undefined
        ? ""
        : ` (line ${error.line}${error.column === undefined ? "" : `, column ${error.column}`})`;
    say(color(visibleLines(`  ${error.code}${place}: ${error.message}`)));
  }

  #once(object: StoredObject, topic: string, line: string): void {
    const key = `${object.metadata.uid} ${topic}`;
    if (this.#told.get(key) === line) return;
    this.#told.set(key, line);
    this.#voice.say(visibleText(line));
  }
}

const SHOWN_RUN_CONDITIONS: readonly (readonly [string, (condition: Condition) => boolean])[] = [
  // That its Toolset is not ready yet is told of the Toolset.
  ["Accepted", ({ status, reason }) => (status !== "True" && reason !== "ToolsetNotReady") || reason === "AlreadyRan"],
  ["DecisionIgnored", ({ status }) => status === "True"],
  ["ServerUnreachable", ({ status }) => status === "True"],
];

/** A run's result as one JSON text, for standard output; undefined when it has none. */
export function resultText(run: StoredObject): string | undefined {
  const { result } = (run.status ?? {}) as RunStatus;
  return result === undefined ? undefined : stringifyExact(result, 2);
}
