import type { Fault } from "../base/errors.ts";
import { type JsonObject, parseExact } from "../base/exact-json.ts";
import { renderDeclarations } from "../declarations/render.ts";
import type { PinNotes } from "../journal/documents.ts";
import { readPin, type StoredPin } from "../journal/pins.ts";
import type { Sql } from "../journal/sql.ts";
import { type CallPolicy, compileCallPolicy, compileRunLimits, type RunLimits } from "../policy/call-policy.ts";
import type { Pin, PinContent, PinnedServer, PinnedTool } from "../toolset/pin.ts";
import { compileValidator, type Validator } from "../toolset/validator.ts";

/** A tool of a pin with its policy, ready to be called. */
export interface CallableTool {
  /** `group.name`, as policies and people name it. */
  readonly fullName: string;
  readonly pinned: PinnedTool;
  readonly server: PinnedServer;
  readonly policy: CallPolicy;
  /** Whether the pinned output schema says that answers are wrapped as `{result: …}` (semantics 4.6). */
  readonly unwrap: boolean;
  /** @returns the faults of the arguments, none when they fit */
  validate(argumentsText: string): readonly Fault[];
  /** @returns the faults of a result that somebody gave in the tool's place, none when it fits the output schema */
  validateResult(valueText: string): readonly Fault[];
}

/** A pin, compiled once for all runs that use it. */
export interface PinnedWorld {
  readonly pin: Pin;
  readonly limits: RunLimits;
  /** Group to the names of its tools, for the sandbox. */
  readonly groups: Readonly<Record<string, readonly string[]>>;
  /** `rewind-tools.d.ts` of the pin, rendered once for all runs: what scripts are type-checked against. */
  declarationText(): string;
  tool(fullName: string): CallableTool | undefined;
}

const WORLDS_MAX = 20;

/** The pins that this process uses, compiled. They never change, so they are kept as long as there is room. */
export class PinnedWorlds {
  readonly #sql: Sql;
  readonly #toolsetId: number;
  readonly #attemptsMax: number | undefined;
  readonly #worlds = new Map<string, Promise<PinnedWorld>>();

  /** @param attemptsMax sends in all under Retry, in place of what the policies say: for tests */
  constructor(sql: Sql, toolsetId: number, attemptsMax?: number) {
    this.#sql = sql;
    this.#toolsetId = toolsetId;
    this.#attemptsMax = attemptsMax;
  }

  /** @throws Error when the journal does not hold the pin */
  async get(digest: string): Promise<PinnedWorld> {
    const known = this.#worlds.get(digest);
    if (known) {
      this.#worlds.delete(digest);
      this.#worlds.set(digest, known);
      return await known;
    }
    const loading = this.#load(digest);
    this.#worlds.set(digest, loading);
    loading.catch(() => this.#worlds.delete(digest));
    for (const oldest of this.#worlds.keys()) {
      if (this.#worlds.size <= WORLDS_MAX) break;
      this.#worlds.delete(oldest);
    }
    return await loading;
  }

  async #load(digest: string): Promise<PinnedWorld> {
    const stored = await readPin(this.#sql, this.#toolsetId, digest);
    if (!stored) throw new Error(`the journal does not hold the pin ${digest}`);
    return compileWorld(pinFromStored(stored), this.#attemptsMax);
  }
}

/** A pin out of the texts that the journal keeps. */
export function pinFromStored(stored: StoredPin): Pin {
  const notes = JSON.parse(stored.notesText) as PinNotes;
  return {
    digest: stored.digest,
    content: parseExact(stored.contentText) as unknown as PinContent,
    contracts: notes.contracts,
    refused: notes.refused as Pin["refused"],
    warnings: notes.warnings,
  };
}

/**
 * Compiles a pin: policies at once, each validator at the first call of its tool.
 * @param attemptsMax sends in all under Retry, in place of what the policies say
 */
export function compileWorld(pin: Pin, attemptsMax?: number): PinnedWorld {
  const servers = new Map(pin.content.servers.map((server) => [server.name, server]));
  const tools = new Map<string, CallableTool>();
  const groups: Record<string, string[]> = {};
  for (const pinned of pin.content.tools) {
    const server = servers.get(pinned.group);
    if (!server) throw new Error(`the pin ${pin.digest} has a tool of the unknown server ${pinned.group}`);
    const fullName = `${pinned.group}.${pinned.name}`;
    tools.set(fullName, callableTool(pin, pinned, server, fullName, attemptsMax));
    groups[pinned.group] = [...(groups[pinned.group] ?? []), pinned.name];
  }
  let rendered: string | undefined;
  const declarationText = () => {
    rendered ??= renderDeclarations(pin).declarationText;
    return rendered;
  };
  return { pin, limits: compileRunLimits(pin.content), groups, declarationText, tool: (name) => tools.get(name) };
}

function callableTool(
  pin: Pin,
  pinned: PinnedTool,
  server: PinnedServer,
  fullName: string,
  attemptsMax: number | undefined,
): CallableTool {
  const compiled = compileCallPolicy(pin.content, pinned);
  const policy = attemptsMax === undefined ? compiled : { ...compiled, attemptsMax };
  let validator: Validator | undefined;
  const validate = (argumentsText: string): readonly Fault[] => {
    if (!policy.validateArguments) return [];
    validator ??= compileValidator(pinned.inputSchema, "input");
    return validator(parseExact(argumentsText));
  };
  const unwrap = (pinned.outputSchema as JsonObject | undefined)?.["x-fastmcp-wrap-result"] === true;
  const validateResult = (valueText: string): readonly Fault[] => {
    if (pinned.outputSchema === undefined) return [];
    const value = parseExact(valueText);
    return compileValidator(pinned.outputSchema)(unwrap ? { result: value } : value);
  };
  return { fullName, pinned, server, policy, unwrap, validate, validateResult };
}
