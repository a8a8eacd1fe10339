import type { Kind } from "./group.ts";
import type { Credential, Run, Toolset } from "./resources.ts";

/** What a field that is not in force yet does when it is used: every value of it is answered, or only some. */
type Unsupported = true | { readonly unless: readonly unknown[] };

/**
 * The fields of the API that do nothing in this version yet, one line a field; `[]` stands for each entry of a list.
 * An object that uses one is answered with NotSupportedYet instead of being half obeyed. Delete a line to bring a field
 * to life; `unless` lists the values that mean what happens anyway.
 */
const UNSUPPORTED: Readonly<Record<Kind, Readonly<Record<string, Unsupported>>>> = {
  Toolset: {
    "spec.base": true,
    "spec.servers[].auth": { unless: ["None"] },
    "spec.servers[].audience": true,
    "spec.hostTools": { unless: [[]] },
    "spec.http": true,
    "spec.workflows": { unless: [[]] },
    "spec.policies[].parkTimeout": true,
    "spec.policies[].heartbeatTimeout": true,
    "spec.policies[].queueTimeout": true,
    "spec.policies[].retention": { unless: ["Durable", "Outward"] },
    "spec.policies[].onDrift": { unless: ["Compatible"] },
    "spec.pinning": { unless: ["Manual"] },
    "spec.notifications": true,
    "spec.dispatcher.resources": true,
    "spec.dispatcher.serviceAccountName": true,
    "spec.dispatcher.nodeSelector": true,
    "spec.dispatcher.tolerations": true,
    "spec.dispatcher.podLabels": true,
  },
  Run: {
    "spec.scriptFrom": true,
    "spec.endUser": true,
    "spec.credentials": { unless: [[]] },
    "spec.session": true,
    "spec.deadline": true,
    "spec.fork": true,
  },
  Credential: { spec: true },
};

/** Kinds of Run that do nothing yet, told by what is absent. */
const RUN_WITHOUT_SCRIPT = "spec.script (a Run without one is a session)";

/**
 * The fields the object uses that are known but do nothing in this version, as paths such as `spec.servers[0].auth`.
 * Empty when all of it is in force. The controller answers others with Accepted=False (Toolset and Credential:
 * Ready=False), reason NotSupportedYet.
 */
export function unsupportedFields(object: Toolset | Run | Credential): string[] {
  const found = Object.entries(UNSUPPORTED[object.kind]).flatMap(([path, unsupported]) =>
    valuesAt(object, path)
      .filter(({ value }) => unsupported === true || !unsupported.unless.some((harmless) => same(harmless, value)))
      .map(({ at }) => at),
  );
  const isSession = object.kind === "Run" && object.spec.script === undefined && object.spec.scriptFrom === undefined;
  return isSession ? [...found, RUN_WITHOUT_SCRIPT] : found;
}

/** The table's paths, for the documentation and the test that holds them against the schemas. */
export function unsupportedPaths(kind: Kind): string[] {
  return Object.keys(UNSUPPORTED[kind]);
}

interface Found {
  readonly at: string;
  readonly value: unknown;
}

/** Every value that a path of the table leads to; `[]` leads to each entry. */
function valuesAt(object: unknown, path: string): Found[] {
  let found: Found[] = [{ at: "", value: object }];
  for (const part of path.split(".")) {
    const name = part.replace("[]", "");
    found = found.flatMap(({ at, value }) => {
      const member = (value as Record<string, unknown>)[name];
      if (member === undefined || member === null) return [];
      const here = at === "" ? name : `${at}.${name}`;
      if (!part.endsWith("[]")) return [{ at: here, value: member }];
      return Array.isArray(member) ? member.map((entry, index) => ({ at: `${here}[${index}]`, value: entry })) : [];
    });
  }
  return found;
}

function same(left: unknown, right: unknown): boolean {
  return JSON.stringify(left) === JSON.stringify(right);
}
