import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Kind, kindNames } from "../../src/api/group.ts";
import { parseManifest } from "../../src/api/manifest.ts";
import { type ApiObject, CONTROLLER } from "./api-client.ts";
import { type ResourceCluster, startResourceCluster } from "./crds-cluster.ts";
import { goodManifests, type Manifest, refusedManifests, run, toolset } from "./crds-manifests.ts";

let cluster: ResourceCluster;
beforeAll(async () => {
  cluster = await startResourceCluster("crds");
}, 900_000);
afterAll(() => cluster?.stop());

/** The manifest as JSON carries it: without members that are undefined. */
function onTheWire(manifest: Manifest): Manifest {
  return JSON.parse(JSON.stringify(manifest)) as Manifest;
}

function dryRun(manifest: Manifest) {
  const path = cluster.path(manifest.kind);
  return cluster.api.post(`${path}?dryRun=All&fieldValidation=Strict`, onTheWire(manifest));
}

function title({ manifest, path, message }: { manifest: Manifest; path: string; message: string }): string {
  return `${manifest.kind} ${path}: ${message}`;
}

describe("manifests", () => {
  test.each(goodManifests.map((manifest) => [`${manifest.kind} ${manifest.metadata.name}`, manifest] as const))(
    "%s is accepted by both",
    async (_, manifest) => {
      expect(parseManifest(onTheWire(manifest))).toEqual({ ok: true, object: onTheWire(manifest) });
      const answer = await dryRun(manifest);
      expect(answer.body.message).toBeUndefined();
      expect(answer.code).toBe(201);
      // [case e05] Nothing is filled in.
      expect(answer.body.spec).toEqual(onTheWire(manifest).spec);
    },
  );

  test.each(refusedManifests.map((refused) => [title(refused), refused] as const))(
    "both refuse %s",
    async (_, { manifest, path, message, serverMessage = message, serverPath = path }) => {
      const parsed = parseManifest(onTheWire(manifest));
      const faults = parsed.ok ? [] : parsed.faults;
      expect(faults).toContainEqual({ path, message: expect.stringContaining(message) });
      const answer = await dryRun(manifest);
      expect([400, 422]).toContain(answer.code);
      expect(answer.body.message).toContain(serverMessage);
      expect(answer.body.message).toContain(serverPath);
    },
  );
});

describe("a Run's spec", () => {
  const fixed = {
    toolset: { name: "triage" },
    script: "export default () => 1;",
    endUser: "cust-42",
    credentials: [{ server: "github", secretRef: { name: "run-token", key: "token" } }],
    session: { id: "s-1" },
    deadline: { after: "1h" },
    fork: { run: "r0", beforeSeq: 2 },
  };
  const changes: Record<string, unknown> = {
    toolset: { name: "other" },
    script: "export default () => 2;",
    endUser: "cust-43",
    credentials: [{ server: "github", secretRef: { name: "other", key: "token" } }],
    session: { id: "s-2" },
    deadline: { after: "2h" },
    fork: { run: "r0", beforeSeq: 3 },
    scriptFrom: { configMap: { name: "a", key: "b" } },
  };
  const path = () => `${cluster.path("Run")}/fixed`;

  beforeAll(async () => {
    const created = await cluster.api.post(cluster.path("Run"), run(fixed, "fixed"));
    expect(created.body.message).toBeUndefined();
  });

  test.each(Object.keys(changes))("%s cannot be changed", async (field) => {
    const answer = await cluster.api.merge(path(), { spec: { [field]: changes[field] } });
    expect(answer.code).toBe(422);
    expect(answer.body.message).toContain(`spec.${field} cannot be changed`);
  });

  test.each(Object.keys(fixed).filter((field) => field !== "toolset"))("%s cannot be removed", async (field) => {
    const answer = await cluster.api.merge(path(), { spec: { [field]: null } });
    expect(answer.code).toBe(422);
    expect(answer.body.message).toContain(`spec.${field} cannot be changed, set or removed`);
  });

  test("cancel and ttlAfterFinished may be set, changed and removed", async () => {
    for (const spec of [
      { cancel: true },
      { ttlAfterFinished: "1h" },
      { ttlAfterFinished: "2h" },
      { ttlAfterFinished: null },
    ]) {
      const answer = await cluster.api.merge(path(), { spec });
      expect(answer.body.message).toBeUndefined();
    }
  });

  test("a label may be added without naming the spec", async () => {
    const answer = await cluster.api.merge(path(), { metadata: { labels: { team: "sre" } } });
    expect(answer.code).toBe(200);
  });
});

describe("kubectl", () => {
  test.each([
    ["toolset.spec.servers.url", "streamable HTTP endpoint"],
    ["toolset.status.digest", "the Toolset's id"],
    ["ts.spec.policies.onInterruption", "AtMostOnce"],
    ["run.spec.decisions", "cannot be changed"],
    ["hprun.status.parked.callDigest", "the whole arguments"],
    ["credential.spec.secretRef", "clientSecret"],
    ["hpcred.status.conditions.reason", "Why, in one word"],
  ])("explain %s", async (field, words) => {
    const printed = await cluster.kubectl("explain", field, "--api-version=holdpoint.dev/v1alpha1");
    expect(printed.replace(/\s+/g, " ")).toContain(words);
  });

  test("every field is explained", async () => {
    for (const kind of Object.keys(kindNames) as Kind[]) {
      const crd = await cluster.api.get(
        `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${kindNames[kind].plural}.holdpoint.dev`,
      );
      expect(undescribed((crd.body as CrdBody).spec.versions[0]?.schema.openAPIV3Schema ?? {}, kind)).toEqual([]);
    }
  });

  test("get shows the columns, -o wide more, and `get holdpoint` all kinds", async () => {
    await cluster.api.post(cluster.path("Toolset"), toolset({}, "shown"));
    const at = "2026-05-01T12:00:00Z";
    const condition = (type: string, status: string) => ({
      type,
      status,
      reason: "Ready",
      message: "",
      lastTransitionTime: at,
    });
    await status("Toolset", "shown", {
      toolCount: 12,
      shortDigest: "3f9a00000000",
      runs: 2,
      conditions: [condition("Ready", "True"), condition("Drifted", "False")],
    });
    expect(rows(await cluster.kubectl("get", "toolset", "shown"))).toEqual([
      ["NAME", "READY", "TOOLS", "DIGEST", "DRIFTED", "RUNS", "AGE"],
      ["shown", "True", "12", "3f9a00000000", "False", "2", expect.any(String)],
    ]);
    await cluster.api.post(cluster.path("Run"), run({}, "shown"));
    await status("Run", "shown", {
      phase: "Parked",
      reason: "ApprovalRequired",
      requester: "bob",
      calls: { total: 7, succeeded: 5, failed: 0, parked: 2, inFlight: 0 },
      parked: [parked("7", "github.create_issue"), parked("9", "mail.send")],
    });
    expect(rows(await cluster.kubectl("get", "hprun", "shown", "-o", "wide"))).toEqual([
      ["NAME", "STATUS", "PARKED", "TOOL", "CALLS", "AGE", "TOOLSET", "REASON", "REQUESTER"],
      ["shown", "Parked", "2", "github.create_issue", "7", expect.any(String), "triage", "ApprovalRequired", "bob"],
    ]);
    expect((await cluster.kubectl("get", "hprun", "shown")).split("\n")[0]).not.toContain("REQUESTER");
    const all = await cluster.kubectl("get", "holdpoint");
    expect(all).toContain("toolset.holdpoint.dev/shown");
    expect(all).toContain("run.holdpoint.dev/shown");
  });

  test("[case e05] after a server-side apply nothing differs", async () => {
    const items = [toolset({}, "smallest"), run({}, "smallest")];
    const manifests = JSON.stringify({ apiVersion: "v1", kind: "List", items });
    await cluster.kubectlWithInput(manifests, "apply", "--server-side", "-f", "-");
    // `diff` exits with 1, which rejects, when anything differs.
    expect(await cluster.kubectlWithInput(manifests, "diff", "--server-side", "-f", "-")).toBe("");
    const changed = JSON.stringify(toolset({ suspend: true }, "smallest"));
    await expect(cluster.kubectlWithInput(changed, "diff", "--server-side", "-f", "-")).rejects.toThrow(
      "suspend: true",
    );
  });
});

interface CrdBody extends ApiObject {
  readonly spec: { readonly versions: readonly { readonly schema: { readonly openAPIV3Schema: Schema } }[] };
}
interface Schema {
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly additionalProperties?: Schema;
}

/** The paths of all fields without a description, except metadata, which is Kubernetes' own. */
function undescribed(schema: Schema, path: string): string[] {
  if (path.endsWith(".metadata")) return [];
  const inner = [
    ...Object.entries(schema.properties ?? {}).map(([name, member]) => [`${path}.${name}`, member] as const),
    ...(schema.items === undefined ? [] : [[`${path}[]`, schema.items] as const]),
    ...(schema.additionalProperties === undefined ? [] : [[`${path}.*`, schema.additionalProperties] as const]),
  ];
  return [...(schema.description ? [] : [path]), ...inner.flatMap(([at, member]) => undescribed(member, at))];
}

async function status(kind: Kind, name: string, value: unknown): Promise<void> {
  const answer = await cluster.api.merge(`${cluster.path(kind)}/${name}/status`, { status: value }, CONTROLLER);
  expect(answer.body.message).toBeUndefined();
}

function parked(id: string, tool: string): Record<string, unknown> {
  return {
    id,
    seq: Number.parseInt(id, 10),
    tool,
    reason: "ApprovalRequired",
    message: "",
    since: "2026-05-01T12:00:00Z",
    callDigest: `sha256:${"0".repeat(64)}`,
    actions: ["Approve", "Reject"],
  };
}

/** What kubectl printed, as a table. */
function rows(printed: string): string[][] {
  return printed
    .trim()
    .split("\n")
    .map((line) => line.trim().split(/\s{2,}/));
}
