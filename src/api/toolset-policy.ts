import { z } from "zod";
import { duration, flag, integer, list, oneOf, optional, text } from "./fields.ts";
import { matching, withRules } from "./rules.ts";
import { toolPattern } from "./server-rules.ts";

/** Who may decide, on top of the RBAC verb. Also in `status.parked` of a Run, from its pin. */
export const approversSchema = withRules(
  z.strictObject({
    groups: optional(list("Members of any of these groups may decide.", text("A group's name.", 256), 32)),
    users: optional(list("These users may decide.", text("A user's name, as the API server knows it.", 256), 64)),
    notRequester: optional(flag("True: whoever created the Run may not decide its calls.")),
  }),
  [
    {
      cel: "(has(self.users) && self.users.size() > 0) || (has(self.groups) && self.groups.size() > 0) || (has(self.notRequester) && self.notRequester)",
      message:
        "name at least one user or group, or set notRequester: true; without approvers the RBAC verb alone decides",
      check: ({ users = [], groups = [], notRequester = false }) =>
        users.length > 0 || groups.length > 0 || notRequester,
    },
  ],
).describe("Only these may decide a parked call, on top of the RBAC verb approve on runs.");

/** What a policy sets. The same members are shown per tool in status, with the effective values. */
export const policySettings = {
  approval: optional(
    oneOf("Required: every call waits until somebody approves it. None (default): calls are sent at once.", [
      "None",
      "Required",
    ]),
  ),
  approvers: optional(approversSchema),
  parkTimeout: optional(
    duration("A parked call that nobody resolved in this time is rejected (ParkTimedOut). Off unless set."),
  ),
  onInterruption: optional(
    oneOf(
      "What happens when a call was sent and no answer came. Retry (default): it is sent again with the same key, up to 5 attempts. AtMostOnce: it fails with outcomeUnknown. Park: somebody decides what happened.",
      ["Retry", "AtMostOnce", "Park"],
    ),
  ),
  timeout: optional(duration("How long one attempt may take in total. 5m unless set.")),
  idleTimeout: optional(
    duration("How long an attempt may go without a result or a progress notification. Off unless set."),
  ),
  unreachableTimeout: optional(
    duration("How long to try a server that certainly never got the call. 15m unless set; 0s for ever.", {
      zero: "for ever",
    }),
  ),
  heartbeatTimeout: optional(duration("Host tools: how long a worker may go without a heartbeat. 60s unless set.")),
  queueTimeout: optional(duration("Host tools: how long a call waits for a worker. Off unless set.")),
  concurrency: optional(integer("Calls of one tool in flight, per run. The run's limit unless set.", 1, 1_000)),
  retention: optional(
    oneOf(
      "What history keeps of a call. The server's newt/retention unless set, else Durable. Outward calls of a step run last, one at a time.",
      ["Ephemeral", "Durable", "Outward"],
    ),
  ),
  validateArguments: optional(
    flag("False: arguments are not checked against the tool's input schema; the server judges them. True unless set."),
  ),
  onDrift: optional(
    oneOf(
      "Compatible (default): sent when the arguments still fit the server's current schema. Strict: parked on any change of the tool's contract.",
      ["Compatible", "Strict"],
    ),
  ),
} as const;

const toolOfGroup = withRules(
  toolPattern("A pattern over group.tool; * stands for any characters.", "github.create_*"),
  [matching("[.*]", "write the tool with its group, such as github.create_issue, or a pattern such as *.delete_*")],
);

/** One entry of `spec.policies`. */
export const policySchema = z
  .strictObject({
    tools: list("The tools this entry is for, as group.tool patterns.", toolOfGroup, 64, 1),
    ...policySettings,
  })
  .describe("What holds for the tools it names.");

/** The policy of one tool as it is in force, in status. */
export const effectivePolicySchema = z.strictObject(policySettings).describe("The policy in force for this tool.");

export type Policy = z.output<typeof policySchema>;
export type Approvers = z.output<typeof approversSchema>;
export type EffectivePolicy = z.output<typeof effectivePolicySchema>;
