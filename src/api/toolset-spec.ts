import { z } from "zod";
import { dispatcherSchema } from "./dispatcher-spec.ts";
import {
  anyObject,
  duration,
  flag,
  integer,
  list,
  listByKey,
  map,
  oneOf,
  optional,
  SCRIPT_LENGTH_MAX,
  scriptFrom,
  secretKeyRef,
  text,
  toolsetName,
} from "./fields.ts";
import { matching, withRules } from "./rules.ts";
import {
  groupName,
  HEADER_NAME_PATTERN,
  headerNameRules,
  IDENTIFIER_PATTERN,
  secretFreeUrl,
  tokenAudience,
  toolPattern,
} from "./server-rules.ts";
import { policySchema } from "./toolset-policy.ts";

const headerValue = withRules(text("The header's value.", 1_024, 0), [
  matching("^[ -~]*$", "write a header's value in printable ASCII"),
]);

const server = withRules(
  z.strictObject({
    name: groupName("The group under which scripts import this server's tools from rewind:tools."),
    url: secretFreeUrl("The server's streamable HTTP endpoint, used exactly as written."),
    protocol: optional(
      oneOf("Version of MCP. Auto (default) tries 2026-07-28 first and falls back to 2025-11-25.", [
        "Auto",
        "2026-07-28",
        "2025-11-25",
      ]),
    ),
    auth: optional(
      oneOf(
        "How calls sign in. None (default); Credential: by Credential objects; ServiceAccountToken: a token of the dispatcher's service account, for servers in the cluster.",
        ["None", "Credential", "ServiceAccountToken"],
      ),
    ),
    audience: optional(tokenAudience("The token's audience, required with ServiceAccountToken.")),
    headers: optional(
      withRules(
        map(
          "Static headers of every request. Names that carry secrets are refused.",
          headerValue,
          16,
          HEADER_NAME_PATTERN,
          "write a header's name: letters, digits and -, at most 64 characters",
        ),
        headerNameRules,
      ),
    ),
    tools: optional(
      z
        .strictObject({
          include: optional(
            list("Only tools that match one of these. All unless set.", toolPattern("A pattern.", "list_*"), 128, 1),
          ),
          exclude: optional(
            list("None of the tools that match one of these.", toolPattern("A pattern.", "delete_*"), 128),
          ),
        })
        .describe("Which of the server's tools are pinned, by patterns over their names."),
    ),
  }),
  [
    {
      cel: "!has(self.auth) || self.auth != 'ServiceAccountToken' || has(self.audience)",
      message: "auth: ServiceAccountToken needs an audience: name the MCP server the token is for",
      check: ({ auth, audience }) => auth !== "ServiceAccountToken" || audience !== undefined,
      field: "audience",
    },
    {
      cel: "!has(self.audience) || (has(self.auth) && self.auth == 'ServiceAccountToken')",
      message: "audience goes with auth: ServiceAccountToken only: set that, or remove audience",
      check: ({ auth, audience }) => audience === undefined || auth === "ServiceAccountToken",
      field: "audience",
    },
  ],
).describe("One MCP server.");

const toolName = withRules(text("The tool's name.", 128), [
  matching("^[A-Za-z0-9_./-]+$", "write a tool's name: letters, digits, _, -, . and /"),
]);

const hostTool = z
  .strictObject({
    group: groupName("The group under which scripts import it."),
    name: toolName,
    description: optional(text("What the tool does, for whoever writes scripts.", 4_096)),
    inputSchema: optional(anyObject("JSON Schema of the arguments. Any object unless set.")),
    outputSchema: optional(anyObject("JSON Schema of the result. Observed unless set.")),
  })
  .describe("One tool that a worker of yours serves.");

const allowedHost = withRules(
  text("A host, *.host for any depth below it, with a port when it is not 80 or 443.", 260),
  [
    matching(
      "^([*][.])?([A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?[.])*[A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?(:[0-9]{1,5})?$",
      "write a host such as api.github.com or *.example.com, without scheme and path",
    ),
  ],
);

const workflow = withRules(
  z.strictObject({
    name: withRules(text("The name under workflows, as scripts call it.", 63), [
      matching(IDENTIFIER_PATTERN, "write an identifier: letters, digits, _ and $, no digit first"),
    ]),
    description: optional(text("What the workflow does.", 4_096)),
    script: optional(text("The script, a TypeScript module.", SCRIPT_LENGTH_MAX)),
    scriptFrom: optional(scriptFrom("Where the script is kept instead.")),
    inputSchema: optional(anyObject("JSON Schema of its input.")),
  }),
  [
    {
      cel: "has(self.script) != has(self.scriptFrom)",
      message: "give exactly one of script and scriptFrom",
      check: ({ script, scriptFrom }) => (script === undefined) !== (scriptFrom === undefined),
    },
  ],
).describe("One script that other scripts may start.");

/** Events that a Toolset's notifications can tell (semantics 7.5). */
export const NOTIFICATION_EVENTS = [
  "credentials.expired",
  "tool.schema_changed",
  "call.approval_required",
  "call.input_required",
  "call.outcome_unknown",
  "call.resolved",
  "run.finished",
] as const;

const notifications = z
  .strictObject({
    url: secretFreeUrl("Where each event is posted to."),
    secretRef: secretKeyRef("The key that signs the posts. Whoever names a Secret needs get on it."),
    events: optional(list("Only these events. All unless set.", oneOf("An event's name.", NOTIFICATION_EVENTS), 16, 1)),
  })
  .describe("Where your harness is told about parked calls and ended runs, as Standard Webhooks.");

const MEMORY_PATTERN = "^([1-9][0-9]{0,6}Mi|[1-9][0-9]{0,3}Gi)$";

const limits = z
  .strictObject({
    concurrency: optional(integer("Calls in flight, per run. 16 unless set.", 1, 1_000)),
    resultBytes: optional(
      integer("Largest result of one call, as JSON text in bytes. 5242880 unless set.", 1_024, 64 * 2 ** 20),
    ),
    sandbox: optional(
      z
        .strictObject({
          memory: optional(
            withRules(text("Memory of one run's sandbox, such as 64Mi (the default).", 16), [
              matching(MEMORY_PATTERN, "write whole Mi or Gi, such as 64Mi"),
              {
                cel: `!self.matches('${MEMORY_PATTERN}') || (quantity(self).compareTo(quantity('16Mi')) >= 0 && quantity(self).compareTo(quantity('1Gi')) <= 0)`,
                message: "a sandbox's memory must be from 16Mi to 1Gi",
                check: (self) =>
                  !new RegExp(MEMORY_PATTERN).test(self) ||
                  (parseMemoryBytes(self) >= 16 * 2 ** 20 && parseMemoryBytes(self) <= 2 ** 30),
              },
            ]),
          ),
          cpu: optional(duration("CPU time between two results. 5s unless set.")),
          calls: optional(integer("Calls of one run in all. 10000 unless set.", 1, 1_000_000)),
        })
        .describe("Limits of the script itself."),
    ),
  })
  .describe("Limits of each run.");

/** Bytes of a sandbox memory text, whole `Mi` or `Gi`, as admission lets it through. */
export function parseMemoryBytes(quantity: string): number {
  return Number.parseInt(quantity, 10) * (quantity.endsWith("Gi") ? 2 ** 30 : 2 ** 20);
}

export const toolsetSpecSchema = withRules(
  z.strictObject({
    base: optional(
      z
        .strictObject({ name: toolsetName("Name of the Toolset, in the same namespace.") })
        .describe(
          "Derive from another Toolset: its servers, host tools, http and policies, with workflows of its own.",
        ),
    ),
    servers: optional(listByKey("The MCP servers whose tools scripts may call.", server, ["name"], 32)),
    hostTools: optional(listByKey("Tools that workers of yours serve.", hostTool, ["group", "name"], 128)),
    http: optional(
      z
        .strictObject({ allowedHosts: list("Hosts that scripts may reach.", allowedHost, 64, 1) })
        .describe("Gives scripts a guarded fetch. Without it they have no network at all."),
    ),
    workflows: optional(listByKey("Scripts that other scripts may start.", workflow, ["name"], 64)),
    policies: optional(list("What holds for which tools; the first entry that matches wins.", policySchema, 128)),
    limits: optional(limits),
    suspend: optional(flag("True: nothing more is sent and nothing is lost; decisions are taken. No part of the pin.")),
    reservedNames: optional(
      list(
        "Tool names that may not be used, such as a harness's own built-ins.",
        toolPattern("A tool's name.", "bash"),
        256,
      ),
    ),
    pinning: optional(
      oneOf(
        "Manual (default): a changed server is reported as drift until somebody pins anew. Automatic: new runs get a new pin.",
        ["Manual", "Automatic"],
      ),
    ),
    notifications: optional(notifications),
    dispatcher: optional(dispatcherSchema),
  }),
  [
    {
      cel: "!has(self.base) || !(has(self.servers) || has(self.hostTools) || has(self.http) || has(self.policies))",
      message:
        "a Toolset with a base takes servers, hostTools, http and policies from it: remove them here, or the base",
      check: ({ base, servers, hostTools, http, policies }) =>
        base === undefined || [servers, hostTools, http, policies].every((part) => part === undefined),
    },
    {
      cel: "!has(self.servers) || !has(self.hostTools) || self.hostTools.all(tool, !self.servers.exists(server, server.name == tool.group))",
      message: "a host tool's group has the name of a server: take another group",
      check: ({ servers = [], hostTools = [] }) =>
        hostTools.every((tool) => !servers.some((server) => server.name === tool.group)),
      field: "hostTools",
    },
  ],
).describe("What scripts may call, and under which rules.");

export type ToolsetSpec = z.output<typeof toolsetSpecSchema>;
export type ToolsetServer = NonNullable<ToolsetSpec["servers"]>[number];
export type ToolsetLimits = NonNullable<ToolsetSpec["limits"]>;
