import { z } from "zod";
import {
  anyJson,
  digest,
  duration,
  flag,
  integer,
  list,
  listByKey,
  map,
  objectName,
  oneOf,
  optional,
  SCRIPT_LENGTH_MAX,
  scriptFrom,
  secretKeyRef,
  text,
  toolsetName,
} from "./fields.ts";
import { matching, type Rule, withRules } from "./rules.ts";
import { groupName } from "./server-rules.ts";

/** The id of a parked call: its seq, and for a call that was parked again the how-manieth time (`7-2`). */
export const CALL_ID_PATTERN = "^[1-9][0-9]{0,9}(-[1-9][0-9]{0,3})?$";
/** Most decisions that stand in one Run at a time. */
export const DECISIONS_MAX = 100;
/** Largest `answers`, as JSON text in bytes. */
export const ANSWERS_BYTES_MAX = 4_096;
/** What somebody may decide about a parked call. */
export const DECISION_ACTIONS = ["Approve", "Reject", "Answer"] as const;

const decision = z
  .strictObject({
    action: oneOf(
      "Approve: send it. Reject: the script gets a ToolError. Answer: with answers, to questions or an unknown outcome.",
      DECISION_ACTIONS,
    ),
    by: text("Your user name, as kubectl auth whoami prints it. Another one is refused.", 256),
    reason: optional(text("Why, for everybody who looks at the run.", 512, 0)),
    callDigest: optional(
      digest("The parked call's callDigest: the decision is for exactly that call. Required when the preview was cut."),
    ),
    answers: optional(anyJson("With Answer: {question: {field: value}} to questions, or the tool's result.")),
  })
  .describe("What somebody decided about one parked call.");

const deadline = z
  .strictObject({
    after: duration("How long the whole run may take."),
    countParked: optional(flag("True: time spent in phase Parked counts as well.")),
  })
  .describe("When the run is given up. None unless set.");

const session = z
  .strictObject({
    id: optional(
      withRules(text("The session's name, sent to the servers as newt/session. The run's id unless set.", 256), [
        matching("^[!-~]+$", "write a session id in printable ASCII without spaces"),
      ]),
    ),
    skillsLoaded: optional(
      list("Skills the agent has loaded, told to the servers.", text("A skill's name.", 256), 256),
    ),
    pagesRead: optional(list("Pages the agent has read, told to the servers.", text("A page's key.", 1_024), 1_024)),
    idleTimeout: optional(duration("Closes a session that got no step for this long. Off unless set.")),
  })
  .describe("What the servers are told about the agent's session.");

const credential = z
  .strictObject({
    server: groupName("The server of the Toolset that it is for."),
    secretRef: secretKeyRef("The token. Whoever names a Secret needs get on it."),
  })
  .describe("One credential of this run alone.");

/** The members of `spec` that may change after the Run was created. */
export const MUTABLE_RUN_FIELDS = ["cancel", "ttlAfterFinished", "decisions"] as const;

const runSpecFields = z.strictObject({
  toolset: z
    .strictObject({
      name: toolsetName("Name of the Toolset, in the same namespace."),
      digest: optional(digest("The pin to run with. The current one unless set.")),
    })
    .describe("What the script may call."),
  script: optional(
    text("The script, a TypeScript module. Without script and scriptFrom the Run is a session.", SCRIPT_LENGTH_MAX),
  ),
  scriptFrom: optional(scriptFrom("Where the script is kept instead.")),
  input: optional(anyJson("Any JSON value: the argument of the script's default export.")),
  endUser: optional(text("On whose behalf it runs: whose credentials its calls use.", 256)),
  credentials: optional(
    listByKey("Credentials of this run alone. With any, no others are looked at.", credential, ["server"], 32),
  ),
  session: optional(session),
  deadline: optional(deadline),
  ttlAfterFinished: optional(
    duration("Deletes the object, never its records, this long after the run ended. Off unless set. May be changed.", {
      zero: "at once",
    }),
  ),
  fork: optional(
    z
      .strictObject({
        run: objectName("Name of the Run whose recorded calls are reused, in the same namespace."),
        beforeSeq: integer("Its calls before this one are reused.", 1, 1_000_000),
      })
      .describe("Reuse the recorded calls of another Run, and run this script from there."),
  ),
  cancel: optional(flag("True: ends the run, whatever it waits for. May be changed.")),
  decisions: optional(
    map(
      "Decisions about parked calls, by the call's id in status.parked. An entry, once written, cannot be changed.",
      decision,
      DECISIONS_MAX,
      CALL_ID_PATTERN,
      "a decision's key is the id of a parked call, such as 7 or 7-2, as status.parked lists it",
    ),
  ),
});

type RunFields = z.output<typeof runSpecFields>;

/** `input` can hold anything, so CRD rules cannot see it: the admission policy holdpoint-immutable-spec guards it. */
const IMMUTABLE_RUN_FIELDS = Object.keys(runSpecFields.shape).filter(
  (name) => name !== "input" && !(MUTABLE_RUN_FIELDS as readonly string[]).includes(name),
);

function immutable(field: string): Rule<RunFields> {
  return {
    cel: `has(self.${field}) == has(oldSelf.${field}) && (!has(self.${field}) || self.${field} == oldSelf.${field})`,
    message: `spec.${field} cannot be changed, set or removed once the Run exists: create a new Run instead`,
  };
}

export const runSpecSchema = withRules(runSpecFields, [
  {
    cel: "!(has(self.script) && has(self.scriptFrom))",
    message: "give script or scriptFrom, not both",
    check: ({ script, scriptFrom }) => script === undefined || scriptFrom === undefined,
  },
  ...IMMUTABLE_RUN_FIELDS.map(immutable),
]).describe("One script, run once. All but cancel, ttlAfterFinished and decisions is immutable.");

export type RunSpec = z.output<typeof runSpecSchema>;
export type Decision = z.output<typeof decision>;
export type DecisionAction = Decision["action"];
