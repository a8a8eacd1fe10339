import { GROUP_VERSION, type Kind } from "../../src/api/group.ts";

/** A manifest, as far as tests build it. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: Kind;
  readonly metadata: { readonly name: string };
  readonly spec: Record<string, unknown>;
}

function manifest(kind: Kind, name: string, spec: Record<string, unknown>): Manifest {
  return { apiVersion: GROUP_VERSION, kind, metadata: { name }, spec };
}

const DIGEST = `sha256:${"0123456789abcdef".repeat(4)}`;

export function toolset(spec: Record<string, unknown> = {}, name = "triage"): Manifest {
  return manifest("Toolset", name, { servers: [{ name: "github", url: "https://mcp.example.com/mcp" }], ...spec });
}

/** A Toolset with one server, changed. */
export function withServer(server: Record<string, unknown>): Manifest {
  return toolset({ servers: [{ name: "github", url: "https://mcp.example.com/mcp", ...server }] });
}

/** A Toolset with one policy, changed. */
export function withPolicy(policy: Record<string, unknown>): Manifest {
  return toolset({ policies: [{ tools: ["github.create_*"], ...policy }] });
}

export function run(spec: Record<string, unknown> = {}, name = "r1"): Manifest {
  return manifest("Run", name, { toolset: { name: "triage" }, script: "export default () => 1;", ...spec });
}

export function credential(spec: Record<string, unknown> = {}, name = "github"): Manifest {
  return manifest("Credential", name, {
    toolset: "triage",
    server: "github",
    type: "Bearer",
    secretRef: { name: "github-token" },
    ...spec,
  });
}

/** Every field of each kind at once, and the smallest object of each. */
export const goodManifests: readonly Manifest[] = [
  toolset(),
  toolset({}, "a"),
  manifest("Toolset", "empty", {}),
  manifest("Toolset", "derived", {
    base: { name: "common" },
    workflows: [{ name: "nightly", scriptFrom: { configMap: { name: "scripts", key: "nightly.ts" } } }],
  }),
  toolset(
    {
      servers: [
        {
          name: "github",
          url: "https://mcp.example.com/mcp?team=triage&page=2",
          protocol: "2025-11-25",
          auth: "Credential",
          headers: { "x-team": "triage", "User-Agent": "holdpoint" },
          tools: { include: ["*"], exclude: ["delete_*"] },
        },
        { name: "inside", url: "http://10.0.0.7:8080/mcp/", auth: "ServiceAccountToken", audience: "https://inside" },
        { name: "$v6", url: "http://[::1]:80", protocol: "2026-07-28", auth: "None" },
      ],
      hostTools: [
        {
          group: "app",
          name: "ask_user",
          description: "Asks.",
          inputSchema: { type: "object", properties: { $ref: {} } },
        },
        { group: "app", name: "tell_user", outputSchema: { type: "string" } },
      ],
      http: { allowedHosts: ["api.github.com", "*.example.com", "localhost:8080"] },
      workflows: [{ name: "nightly", description: "Every night.", script: "export default 1;", inputSchema: {} }],
      policies: [
        {
          tools: ["github.create_*", "*.delete_*"],
          approval: "Required",
          approvers: { groups: ["sre"], users: [], notRequester: true },
          parkTimeout: "72h",
          onInterruption: "AtMostOnce",
          timeout: "5m",
          idleTimeout: "90s",
          unreachableTimeout: "0s",
          heartbeatTimeout: "60s",
          queueTimeout: "10m",
          concurrency: 4,
          retention: "Outward",
          validateArguments: true,
          onDrift: "Strict",
        },
        { tools: ["*"], approval: "None" },
      ],
      limits: { concurrency: 16, resultBytes: 5_242_880, sandbox: { memory: "64Mi", cpu: "5s", calls: 10_000 } },
      suspend: false,
      reservedNames: ["bash"],
      pinning: "Automatic",
      notifications: {
        url: "https://harness.example.com/hook",
        secretRef: { name: "hook", key: "secret" },
        events: ["run.finished"],
      },
      dispatcher: {
        maxReplicas: 5,
        runsPerReplica: 200,
        idleAfter: "1m30s",
        resources: { requests: { cpu: "100m", memory: "128Mi" }, limits: { cpu: 1 } },
        serviceAccountName: "triage",
        nodeSelector: { "kubernetes.io/os": "linux" },
        tolerations: [{ key: "agents", operator: "Exists", effect: "NoSchedule" }],
        podLabels: { "example.com/zone": "tools" },
      },
    },
    "everything",
  ),
  run(),
  manifest("Run", "session", { toolset: { name: "triage" } }),
  run({ input: "text" }, "text-input"),
  run({ input: null }, "null-input"),
  run({ input: [1, { a: null }] }, "list-input"),
  run(
    {
      toolset: { name: "triage", digest: DIGEST },
      input: { repo: "acme/app", nested: { deep: [true] } },
      endUser: "cust-42",
      credentials: [{ server: "github", secretRef: { name: "run-token", key: "token" } }],
      session: { id: "s-1", skillsLoaded: ["git"], pagesRead: ["a/b"], idleTimeout: "1h" },
      deadline: { after: "240h", countParked: false },
      ttlAfterFinished: "168h",
      fork: { run: "triage-x1", beforeSeq: 12 },
      cancel: false,
    },
    "everything",
  ),
  credential(),
  credential({ server: undefined, host: "api.github.com", type: "Basic" }, "host"),
  credential({ type: "Header", header: "x-api-key", endUser: "cust-42", expiresAt: "2026-05-01T12:00:00Z" }, "header"),
];

/** One manifest that is refused on creation, by the API server and by `parseManifest` alike. */
export interface RefusedManifest {
  readonly manifest: Manifest;
  /** Where the fault is. */
  readonly path: string;
  /** A part of the message that both give. */
  readonly message: string;
  /** What the API server says instead, for what its own schema check finds. */
  readonly serverMessage?: string;
  /** Where the API server sees the fault, where that differs. */
  readonly serverPath?: string;
}

const url = (value: string, message: string, serverMessage = message): RefusedManifest => ({
  manifest: withServer({ url: value }),
  path: "spec.servers[0].url",
  message,
  serverMessage,
});
const serverName = (value: string, message: string): RefusedManifest => ({
  manifest: withServer({ name: value }),
  path: "spec.servers[0].name",
  message,
});
const header = (name: string, message: string): RefusedManifest => ({
  manifest: withServer({ headers: { [name]: "x" } }),
  path: "spec.servers[0].headers",
  message,
});
const policy = (
  fields: Record<string, unknown>,
  path: string,
  message: string,
  serverMessage?: string,
): RefusedManifest => ({
  manifest: withPolicy(fields),
  path: `spec.policies[0].${path}`,
  message,
  ...(serverMessage === undefined ? {} : { serverMessage }),
});
const many = <Item>(count: number, item: (index: number) => Item): Item[] =>
  Array.from({ length: count }, (_, i) => item(i));

/** Refused Toolsets. */
const refusedToolsets: readonly RefusedManifest[] = [
  url("ftp://mcp.example.com/mcp", "absolute URL with http or https"),
  url("mcp.example.com/mcp", "absolute URL with http or https"),
  url("https://mcp.example.com/a b", "absolute URL with http or https"),
  url("https://user:planted@mcp.example.com/mcp", "no user or password in a URL"),
  url("https://user@mcp.example.com/mcp", "no user or password in a URL"),
  url("https://mcp.example.com/mcp?token=planted", "no token, key or secret in a URL's query"),
  url("https://mcp.example.com/mcp?a=1&API_KEY=planted", "no token, key or secret in a URL's query"),
  url("https://mcp.example.com/mcp?client_secret", "no token, key or secret in a URL's query"),
  url("https://mcp.example.com/mcp?%74oken=planted", "no token, key or secret in a URL's query"),
  url("https://mcp.example.com/mcp#part", "no fragment"),
  url(`https://mcp.example.com/${"a".repeat(2048)}`, "at most 2048", "more than 2048"),
  serverName("git-hub", "write an identifier"),
  serverName("1github", "write an identifier"),
  serverName("http", "built-ins"),
  serverName("webhook", "built-ins"),
  serverName("workflows", "built-ins"),
  serverName("rewind", "built-ins"),
  serverName("delete", "reserved word"),
  header("Authorization", "use a Credential"),
  header("cookie", "use a Credential"),
  header("X-Api-Key", "use a Credential"),
  header("x-access-token", "use a Credential"),
  header("x-mysecretvalue", "use a Credential"),
  header("Mcp-Session-Id", "set by the connection itself"),
  header("x team", "write a header's name"),
  {
    manifest: withServer({ headers: { "x-a": "1\n2" } }),
    path: "spec.servers[0].headers.x-a",
    serverPath: "spec.servers[0].headers[x-a]",
    message: "printable ASCII",
  },
  {
    manifest: toolset({ servers: many(2, (index) => ({ name: "github", url: `https://s${index}.example.com` })) }),
    path: "spec.servers[1]",
    message: "Duplicate value",
  },
  {
    manifest: toolset({ servers: many(33, (index) => ({ name: `s${index}`, url: "https://mcp.example.com" })) }),
    path: "spec.servers",
    message: "at most 32 entries",
    serverMessage: "must have at most 32 items",
  },
  {
    manifest: toolset({ servers: [{ name: "github" }] }),
    path: "spec.servers[0].url",
    message: "is required",
    serverMessage: "Required value",
  },
  {
    manifest: withServer({ auth: "ServiceAccountToken" }),
    path: "spec.servers[0].audience",
    message: "needs an audience",
  },
  {
    manifest: withServer({ audience: "https://inside" }),
    path: "spec.servers[0].audience",
    message: "goes with auth: ServiceAccountToken only",
  },
  {
    manifest: withServer({ auth: "ServiceAccountToken", audience: "https://kubernetes.default.svc.cluster.local" }),
    path: "spec.servers[0].audience",
    message: "the API server's own",
  },
  {
    manifest: withServer({ auth: "Basic" }),
    path: "spec.servers[0].auth",
    message: "must be one of None",
    serverMessage: "supported values",
  },
  {
    manifest: withServer({ ulr: "x" }),
    path: "spec.servers[0].ulr",
    message: "did you mean url",
    serverMessage: "unknown field",
  },
  {
    manifest: withServer({ tools: { include: [] } }),
    path: "spec.servers[0].tools.include",
    message: "at least 1",
    serverMessage: "should have at least 1",
  },
  policy({ tools: [] }, "tools", "at least 1", "should have at least 1"),
  policy({ tools: ["create_issue"] }, "tools[0]", "write the tool with its group"),
  policy({ approval: "required" }, "approval", "did you mean Required", "supported values"),
  policy({ approvers: {} }, "approvers", "name at least one user or group"),
  policy({ approvers: { users: [], notRequester: false } }, "approvers", "name at least one user or group"),
  policy({ timeout: "5 minutes" }, "timeout", "write a duration such as"),
  policy({ timeout: "0s" }, "timeout", "longer than zero"),
  policy({ parkTimeout: "99999d" }, "parkTimeout", "this duration is too long"),
  policy({ onInterruption: "Ignore" }, "onInterruption", "must be one of Retry", "supported values"),
  policy({ concurrency: 0 }, "concurrency", "at least 1", "greater than or equal to 1"),
  policy({ concurrency: "4" }, "concurrency", "must be a number, not a text", "must be of type integer"),
  policy({ validateArgument: false }, "validateArgument", "did you mean validateArguments", "unknown field"),
  {
    manifest: toolset({ limits: { sandbox: { memory: "2Gi" } } }),
    path: "spec.limits.sandbox.memory",
    message: "from 16Mi to 1Gi",
  },
  {
    manifest: toolset({ limits: { sandbox: { memory: "64MB" } } }),
    path: "spec.limits.sandbox.memory",
    message: "whole Mi or Gi",
  },
  {
    manifest: toolset({ base: { name: "common" } }),
    path: "spec",
    message: "takes servers, hostTools, http and policies from it",
  },
  {
    manifest: toolset({ base: { name: "self" }, servers: undefined }, "self"),
    path: "",
    message: "cannot be its own base",
    serverPath: "",
  },
  { manifest: toolset({}, "with.dot"), path: "", message: "at most 63", serverPath: "" },
  {
    manifest: toolset({ hostTools: [{ group: "github", name: "x" }] }),
    path: "spec.hostTools",
    message: "has the name of a server",
  },
  {
    manifest: toolset({ http: { allowedHosts: ["https://api.github.com"] } }),
    path: "spec.http.allowedHosts[0]",
    message: "write a host",
  },
  {
    manifest: toolset({ workflows: [{ name: "nightly" }] }),
    path: "spec.workflows[0]",
    message: "exactly one of script and scriptFrom",
  },
  {
    manifest: toolset({ dispatcher: { idleAfter: "soon" } }),
    path: "spec.dispatcher.idleAfter",
    message: "write a duration",
  },
  {
    manifest: toolset({ notifications: { url: "https://h.example.com?sig=1", secretRef: { name: "a", key: "b" } } }),
    path: "spec.notifications.url",
    message: "no token, key or secret",
  },
];

/** Refused Runs. Decisions and immutability have tests of their own. */
const refusedRuns: readonly RefusedManifest[] = [
  {
    manifest: run({ toolset: undefined }),
    path: "spec.toolset",
    message: "is required",
    serverMessage: "Required value",
  },
  { manifest: run({ toolset: { name: "Triage" } }), path: "spec.toolset.name", message: "write a Toolset's name" },
  {
    manifest: run({ toolset: { name: "triage", digest: "sha256:1" } }),
    path: "spec.toolset.digest",
    message: "write a digest",
  },
  {
    manifest: run({ scriptFrom: { configMap: { name: "a", key: "b" } } }),
    path: "spec",
    message: "script or scriptFrom, not both",
  },
  { manifest: run({ script: "" }), path: "spec.script", message: "at least 1", serverMessage: "should be at least 1" },
  {
    manifest: run({ script: "x".repeat(262_145) }),
    path: "spec.script",
    message: "at most 262144",
    serverMessage: "262144",
  },
  { manifest: run({ deadline: { after: "-1h" } }), path: "spec.deadline.after", message: "write a duration" },
  {
    manifest: run({ fork: { run: "r0", beforeSeq: 0 } }),
    path: "spec.fork.beforeSeq",
    message: "at least 1",
    serverMessage: "greater than or equal to 1",
  },
  {
    manifest: run({ decisions: { seven: { action: "Approve", by: "ann" } } }),
    path: "spec.decisions",
    message: "the id of a parked call",
  },
  {
    manifest: run({ decisions: { "7": { action: "Yes", by: "ann" } } }),
    path: "spec.decisions.7.action",
    message: "must be one of Approve",
    serverMessage: "supported values",
  },
  {
    manifest: run({ decisions: { "7": { action: "Reject", by: "ann", reason: "x".repeat(513) } } }),
    path: "spec.decisions.7.reason",
    message: "at most 512",
    serverMessage: "512",
  },
  {
    manifest: run({ cancel: "yes" }),
    path: "spec.cancel",
    message: "must be true or false",
    serverMessage: "must be of type boolean",
  },
];

/** Refused Credentials. */
const refusedCredentials: readonly RefusedManifest[] = [
  { manifest: credential({ server: undefined }), path: "spec", message: "exactly one of server" },
  { manifest: credential({ host: "api.github.com" }), path: "spec", message: "exactly one of server" },
  { manifest: credential({ type: "Header" }), path: "spec", message: "type: Header needs header" },
  { manifest: credential({ header: "x-api-key" }), path: "spec", message: "header goes with type: Header only" },
  {
    manifest: credential({ type: "Header", header: "Host" }),
    path: "spec.header",
    message: "set by the connection itself",
  },
  {
    manifest: credential({ type: "Token" }),
    path: "spec.type",
    message: "must be one of Bearer",
    serverMessage: "supported values",
  },
  {
    manifest: credential({ expiresAt: "tomorrow" }),
    path: "spec.expiresAt",
    message: "write a time",
    serverMessage: "date-time",
  },
  {
    manifest: credential({ secretRef: {} }),
    path: "spec.secretRef.name",
    message: "is required",
    serverMessage: "Required value",
  },
];

/** Every manifest that both refuse. */
export const refusedManifests: readonly RefusedManifest[] = [...refusedToolsets, ...refusedRuns, ...refusedCredentials];
