import { z } from "zod";
import { integer, oneOf, text, time } from "./fields.ts";
import type { Kind } from "./group.ts";

/** Longest message in a status, in characters of which each may take one byte (semantics 14.4). */
export const MESSAGE_LENGTH_MAX = 16 * 1024;
/** Most conditions of one object: 50 parked calls, 20 resolved ones, and its own. */
export const CONDITIONS_MAX = 100;

/** One condition, of the shape that every Kubernetes tool knows. */
export const conditionSchema = z
  .strictObject({
    type: text("What it says, such as Ready or Parked-7.", 316),
    status: oneOf("Whether it holds.", ["True", "False", "Unknown"]),
    observedGeneration: integer("The generation of the object that was judged.", 0).exactOptional(),
    lastTransitionTime: time("When status last changed."),
    reason: text("Why, in one word.", 1_024),
    message: text("Why, for people.", MESSAGE_LENGTH_MAX, 0),
  })
  .describe("One condition.");

export type Condition = z.output<typeof conditionSchema>;

/** The conditions of a status: one per type. */
export function conditionsField() {
  return z
    .array(conditionSchema)
    .max(CONDITIONS_MAX)
    .meta({
      description: "What holds for this object now, one entry a type.",
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["type"],
    })
    .exactOptional();
}

/**
 * What a condition type means.
 * `positive`: True is well. `negative`: True needs attention. `neutral`: True is neither.
 */
export interface ConditionDefinition {
  readonly polarity: "positive" | "negative" | "neutral";
  /** When the condition is there at all. */
  readonly present: string;
  /** Every reason, with what it means. */
  readonly reasons: Readonly<Record<string, string>>;
}

/** The type of the condition of one parked call, such as `Parked-7`. */
export function parkedConditionType(callId: string): `Parked-${string}` {
  return `Parked-${callId}`;
}

const supported = { NotSupportedYet: "The named fields are known but do nothing in this version." } as const;
const kstatus = {
  Reconciling: {
    polarity: "negative",
    present: "Only while the newest spec has not been worked in yet; for kstatus.",
    reasons: { Progressing: "The newest spec is being worked in." },
  },
  Stalled: {
    polarity: "negative",
    present: "Only while nothing goes on until somebody changes the object or what it names; for kstatus.",
    reasons: { Refused: "The message of Ready or Accepted says why.", ...supported },
  },
} as const satisfies Record<string, ConditionDefinition>;

/** The conditions of a Toolset and their reasons. */
export const toolsetConditions = {
  Ready: {
    polarity: "positive",
    present: "Always. New runs are taken only while it is True.",
    reasons: {
      Ready: "Pinned, and runs are taken.",
      Pinning: "The first pin is being made.",
      ServerUnreachable: "A server does not answer, and there is no pin yet.",
      AuthenticationFailed: "A server refused the credential.",
      PagingLoop: "A server's tool listing does not end.",
      ReservedName: "A tool has a name of reservedNames.",
      NameClash: "Two tools of one group have one name, or a group has a built-in's name.",
      OutwardNotIdempotent: "An outward tool is neither idempotent nor AtMostOnce nor Park.",
      BaseNotFound: "The base does not exist or has no pin.",
      BaseCycle: "The bases form a circle.",
      InvalidWorkflow: "A workflow's script is missing or does not type-check.",
      CRDOutdated: "The installed CRDs lack a field that this version knows.",
      RequesterUnknown: "notRequester is used, and the cluster cannot record who created a Run.",
      ...supported,
    },
  },
  Pinned: {
    polarity: "positive",
    present: "Always.",
    reasons: {
      Pinned: "Every tool is pinned.",
      PinnedPartly: "Some tools are left out; status.refused names them.",
      Pinning: "The pin is being made.",
      NotPinned: "There is no pin; Ready says why.",
    },
  },
  Reachable: {
    polarity: "positive",
    present: "Once the servers have been listed.",
    reasons: {
      Reachable: "Every server answered when it was last asked.",
      ServerUnreachable: "The named server does not answer.",
      AuthenticationFailed: "The named server refused the credential.",
      PagingLoop: "The named server's tool listing does not end.",
      ProtocolError: "The named server does not speak MCP in a version that is known.",
      RedirectRefused: "The named server redirects elsewhere; the message names the target.",
    },
  },
  Drifted: {
    polarity: "negative",
    present: "Once there is a pin.",
    reasons: {
      InSync: "The servers offer what is pinned.",
      Drifted: "Tools differ from the pin; status.drift names them.",
    },
  },
  DispatcherReady: {
    polarity: "positive",
    present: "Always.",
    reasons: {
      Running: "At least one dispatcher works.",
      Idle: "There is no work, so none runs.",
      Starting: "One is being started.",
      Failing: "It cannot be started or keeps ending; the message says why.",
      Suspended: "The Toolset is suspended.",
    },
  },
  DeletionBlocked: {
    polarity: "negative",
    present: "Only while the Toolset is being deleted.",
    reasons: { UnfinishedRuns: "The named runs are unfinished." },
  },
  ...kstatus,
} as const satisfies Record<string, ConditionDefinition>;

/** Why a call is parked (semantics 7.1). */
export const parkReasons = {
  ApprovalRequired: "The policy asks for an approval before the call is sent.",
  SchemaChanged: "The server's tool is no longer the pinned one.",
  CredentialExpired: "The credential was refused or has expired.",
  InputRequired: "The server asks a question.",
  OutcomeUnknown: "The call was sent and no answer came: somebody has to say what happened.",
} as const;

/** How a parking ended. */
export const resolveReasons = {
  Approved: "Somebody approved it.",
  Rejected: "Somebody rejected it.",
  Answered: "Somebody answered.",
  Renewed: "The credential was renewed.",
  TimedOut: "Nobody resolved it within parkTimeout.",
  Withdrawn: "What it waited for is gone.",
  Cancelled: "The run was cancelled.",
} as const;

export type ParkReason = keyof typeof parkReasons;
export type ResolveReason = keyof typeof resolveReasons;

/** The conditions of a Run and their reasons. `Parked-*` stands for one condition per parked call. */
export const runConditions = {
  Accepted: {
    polarity: "positive",
    present: "Once the Run has been looked at.",
    reasons: {
      Accepted: "The run is in the journal.",
      ToolsetNotFound: "The Toolset does not exist; the run waits for it.",
      ToolsetNotReady: "The Toolset is not Ready; the run waits.",
      Suspended: "The Toolset is suspended; the run waits.",
      PinNotFound: "The Toolset has no pin of this digest.",
      ScriptInvalid: "The script does not type-check; the message has lines and columns.",
      ScriptCheckTooComplex: "The type-checker gave up on the script.",
      AlreadyRan: "The journal knows a finished run of this name and spec; a new name runs it again.",
      CRDOutdated: "The installed CRDs lack a field that this version knows.",
      JournalUnavailable: "The journal does not take writes; the run waits.",
      ...supported,
    },
  },
  Parked: {
    polarity: "negative",
    present: "Once a call was parked.",
    reasons: { ...parkReasons, Several: "Several calls are parked.", NoneParked: "No call is parked." },
  },
  "Parked-*": {
    polarity: "negative",
    present: "One per parked call; the last 20 resolved ones are kept.",
    reasons: { ...parkReasons, ...resolveReasons },
  },
  DecisionIgnored: {
    polarity: "negative",
    present: "Only while a decision names a call that is not parked, or cannot be carried out.",
    reasons: { NotParked: "No call of that id is parked.", CannotBeCarriedOut: "The message names each fault." },
  },
  Finished: {
    polarity: "neutral",
    present: "Once the run is accepted.",
    reasons: {
      Unfinished: "The run goes on.",
      Succeeded: "The script returned.",
      Failed: "The error says why.",
      Cancelled: "The run was cancelled.",
    },
  },
  ServerUnreachable: {
    polarity: "negative",
    present: "Only while a server has not been reached for a minute.",
    reasons: { ServerUnreachable: "The named server cannot be reached; the call is tried again." },
  },
  ...kstatus,
} as const satisfies Record<string, ConditionDefinition>;

/** The conditions of a Credential and their reasons. */
export const credentialConditions = {
  Ready: {
    polarity: "positive",
    present: "Always.",
    reasons: {
      Ready: "The secret is there and was read.",
      SecretNotFound: "The Secret does not exist.",
      SecretKeyMissing: "The Secret lacks a key that the type needs.",
      ToolsetNotFound: "The Toolset does not exist.",
      ServerNotFound: "The Toolset has no server of this name.",
      Expired: "expiresAt has passed.",
      Rejected: "The server refused the credential.",
      ...supported,
    },
  },
  ...kstatus,
} as const satisfies Record<string, ConditionDefinition>;

export type ToolsetConditionType = keyof typeof toolsetConditions;
export type RunConditionType = Exclude<keyof typeof runConditions, "Parked-*"> | `Parked-${string}`;
export type CredentialConditionType = keyof typeof credentialConditions;
type ReasonsOf<Definitions extends Record<string, ConditionDefinition>> = {
  [Type in keyof Definitions]: keyof Definitions[Type]["reasons"] & string;
}[keyof Definitions];
export type ToolsetReason = ReasonsOf<typeof toolsetConditions>;
export type RunReason = ReasonsOf<typeof runConditions>;
export type CredentialReason = ReasonsOf<typeof credentialConditions>;

/** The conditions of every kind, for the documentation. */
export const conditions: Readonly<Record<Kind, Readonly<Record<string, ConditionDefinition>>>> = {
  Toolset: toolsetConditions,
  Run: runConditions,
  Credential: credentialConditions,
};
