import type { JsonObject } from "../base/exact-json.ts";
import type { PinnedTool } from "./pin.ts";
import { matchesToolPattern } from "./tool-pattern.ts";

/** Why no pin is made: a code of the registry, the tool or group it is about, and one sentence. */
export interface PinFault {
  readonly code: "NameClash" | "ReservedName" | "OutwardNotIdempotent";
  /** `group.name`, or the group alone. */
  readonly tool: string;
  readonly message: string;
}

/** Names of the built-ins, which no group may take (semantics 1.5). */
const BUILT_IN_GROUPS: ReadonlySet<string> = new Set(["http", "webhook", "workflows", "rewind"]);
/** Words that cannot name a constant of a module. */
const RESERVED_WORDS: ReadonlySet<string> = new Set(
  (
    "arguments await break case catch class const continue debugger default delete do else enum eval export extends " +
    "false finally for function if implements import in instanceof interface let new null package private protected " +
    "public return static super switch this throw true try typeof undefined var void while with yield"
  ).split(" "),
);
const IDENTIFIER = /^[A-Za-z_$][\w$]*$/;

interface Candidate {
  readonly groups: readonly string[];
  /** By group and name, so that equal ones stand side by side. */
  readonly tools: readonly PinnedTool[];
  readonly policies: readonly JsonObject[];
  readonly reservedNames: readonly string[];
}

/** Everything that forbids the pin, all at once (semantics 1.5). */
export function refusals(candidate: Candidate): PinFault[] {
  const reserved = new Set(candidate.reservedNames);
  return [
    ...groupFaults(candidate.groups),
    ...clashes(candidate.tools),
    ...candidate.tools.filter(({ name }) => reserved.has(name)).map(reservedFault),
    ...candidate.tools.flatMap((tool) => outwardFault(tool, candidate.policies)),
  ];
}

function groupFaults(groups: readonly string[]): PinFault[] {
  return groups.flatMap((group, index): PinFault[] => {
    if (groups.indexOf(group) !== index) return [clash(group, `two servers are called ${group}`)];
    if (BUILT_IN_GROUPS.has(group)) return [clash(group, `${group} is the name of a built-in`)];
    if (IDENTIFIER.test(group) && !RESERVED_WORDS.has(group)) return [];
    return [clash(group, `${JSON.stringify(group)} is no identifier, so no script can import it`)];
  });
}

function clashes(tools: readonly PinnedTool[]): PinFault[] {
  const repeated = tools.filter((tool, index) => {
    const before = tools[index - 1];
    const twoBefore = tools[index - 2];
    return isSame(tool, before) && !isSame(tool, twoBefore);
  });
  return repeated.map((tool) => clash(fullName(tool), `${fullName(tool)} is listed more than once`));
}

function isSame(tool: PinnedTool, other: PinnedTool | undefined): boolean {
  return other !== undefined && tool.group === other.group && tool.name === other.name;
}

function reservedFault(tool: PinnedTool): PinFault {
  return { code: "ReservedName", tool: fullName(tool), message: `the name ${tool.name} is listed in reservedNames` };
}

/** What reaches the outside must bear being sent twice, or never be sent twice. */
function outwardFault(tool: PinnedTool, policies: readonly JsonObject[]): PinFault[] {
  if (tool.tags["newt/idempotent"] === true) return [];
  const name = fullName(tool);
  if (tool.tags["newt/retention"] === "outward") {
    const message = `the server tags ${name} outward, and not newt/idempotent: true`;
    return [{ code: "OutwardNotIdempotent", tool: name, message }];
  }
  const policy = policies.find((entry) => patterns(entry).some((pattern) => matchesToolPattern(pattern, name)));
  const onInterruption = policy?.["onInterruption"];
  if (policy?.["retention"] !== "Outward" || onInterruption === "AtMostOnce" || onInterruption === "Park") return [];
  const message = `a policy makes ${name} Outward; the server must tag it newt/idempotent, or the policy say onInterruption: AtMostOnce or Park`;
  return [{ code: "OutwardNotIdempotent", tool: name, message }];
}

function patterns(policy: JsonObject): string[] {
  const listed = policy["tools"];
  return Array.isArray(listed) ? listed.filter((pattern) => typeof pattern === "string") : [];
}

function clash(tool: string, message: string): PinFault {
  return { code: "NameClash", tool, message };
}

function fullName(tool: PinnedTool): string {
  return `${tool.group}.${tool.name}`;
}
