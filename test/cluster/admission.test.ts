import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ApiAnswer, type Caller, CONTROLLER } from "./api-client.ts";
import { type ResourceCluster, startResourceCluster } from "./crds-cluster.ts";
import { credential, run, toolset } from "./crds-manifests.ts";

const DIGEST = `sha256:${"a".repeat(64)}`;
const OTHER_DIGEST = `sha256:${"b".repeat(64)}`;

// Ann and Bob may approve; Carol may edit Runs, and no more; Dave creates the Runs, and may approve as well.
const ANN: Caller = { user: "ann@example.com", group: "sre" };
const BOB: Caller = { user: "bob@example.com", group: "dev" };
const CAROL: Caller = { user: "carol@example.com" };
const DAVE: Caller = { user: "dave@example.com", group: "sre" };

let cluster: ResourceCluster;
let count = 0;

beforeAll(async () => {
  cluster = await startResourceCluster("admission");
  await allow("approver", [ANN, BOB, DAVE], ["approve"], "runs");
  await allow("editor", [ANN, BOB, CAROL, DAVE], ["create", "get", "patch", "update", "delete"], "*");
  await allow("status-editor", [CAROL], ["patch", "update"], "runs/status");
}, 900_000);
afterAll(() => cluster?.stop());

async function allow(name: string, callers: readonly Caller[], verbs: string[], resource: string): Promise<void> {
  const role = JSON.stringify({
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "Role",
    metadata: { name },
    rules: [{ apiGroups: ["holdpoint.dev"], resources: [resource], verbs }],
  });
  await cluster.kubectlWithInput(role, "apply", "-f", "-");
  await cluster.kubectl(
    "create",
    "rolebinding",
    name,
    `--role=${name}`,
    ...callers.map(({ user }) => `--user=${user}`),
  );
}

interface Setup {
  /** Members of the parked call 7 besides the usual ones. */
  readonly call?: Record<string, unknown>;
  readonly decided?: { readonly by: Caller; readonly action: string };
}

/** A Run of Dave's whose call 7 is parked. Resolves to its API path. */
async function parkedRun({ call = {}, decided }: Setup = {}): Promise<string> {
  count += 1;
  const name = `parked-${count}`;
  ok(await cluster.api.post(cluster.path("Run"), run({ input: { repo: "acme/app" } }, name), DAVE));
  const path = `${cluster.path("Run")}/${name}`;
  const parked = [
    {
      id: "7",
      seq: 7,
      tool: "github.create_issue",
      reason: "ApprovalRequired",
      message: "The policy asks for an approval.",
      since: "2026-05-01T12:00:00Z",
      arguments: "{}",
      argumentsBytes: 2,
      callDigest: DIGEST,
      actions: ["Approve", "Reject"],
      ...call,
    },
  ];
  ok(await cluster.api.merge(`${path}/status`, { status: { phase: "Parked", parked } }, CONTROLLER));
  if (decided !== undefined) {
    ok(await decide(path, { action: decided.action, by: decided.by.user }, decided.by));
  }
  return path;
}

function decide(path: string, decision: Record<string, unknown>, as: Caller, id = "7"): Promise<ApiAnswer> {
  return cluster.api.merge(path, { spec: { decisions: { [id]: decision } } }, as);
}

function ok(answer: ApiAnswer): ApiAnswer {
  expect(answer.body.message).toBeUndefined();
  return answer;
}

function refused(answer: ApiAnswer, message: string): void {
  expect(answer.body.message).toContain(message);
  expect([403, 422]).toContain(answer.code);
}

async function decisionsOf(path: string): Promise<unknown> {
  return ok(await cluster.api.get(path)).body.spec?.["decisions"];
}

const approve = (by: Caller) => ({ action: "Approve", by: by.user });

describe("a decision that is true", () => {
  test("`kubectl patch --type=merge` by an approver is taken", async () => {
    const path = await parkedRun();
    const name = path.split("/").at(-1) ?? "";
    const patch = JSON.stringify({ spec: { decisions: { "7": { ...approve(ANN), reason: "looks right" } } } });
    await cluster.kubectl(
      "patch",
      "run",
      name,
      "--type=merge",
      "-p",
      patch,
      `--as=${ANN.user}`,
      "--as-group=system:authenticated",
    );
    expect(await decisionsOf(path)).toEqual({ "7": { ...approve(ANN), reason: "looks right" } });
  });

  test("with the parked call's digest, on a cut preview [case c07]", async () => {
    const path = await parkedRun({ call: { previewCut: true, argumentsBytes: 2_500 } });
    ok(await decide(path, { ...approve(ANN), callDigest: DIGEST }, ANN));
  });

  test("by a named user, and by a member of a named group", async () => {
    const approvers = { users: [BOB.user], groups: ["sre"] };
    ok(await decide(await parkedRun({ call: { approvers } }), approve(BOB), BOB));
    ok(await decide(await parkedRun({ call: { approvers } }), approve(ANN), ANN));
  });

  test("by anybody else than the requester, where no one else is named [semantics 7.9]", async () => {
    ok(await decide(await parkedRun({ call: { approvers: { notRequester: true, users: [] } } }), approve(ANN), ANN));
  });

  test("Answer with answers, where it is offered", async () => {
    const path = await parkedRun({ call: { reason: "InputRequired", actions: ["Answer", "Reject"] } });
    ok(await decide(path, { action: "Answer", by: ANN.user, answers: { size: { value: 3 } } }, ANN));
  });

  test("is removed by an approver once its call is no longer parked", async () => {
    const path = await parkedRun({ decided: { by: ANN, action: "Approve" } });
    ok(await cluster.api.merge(`${path}/status`, { status: { phase: "Running", parked: null } }, CONTROLLER));
    refused(
      await cluster.api.merge(path, { spec: { decisions: null } }, CAROL),
      "the verb approve on runs.holdpoint.dev is missing",
    );
    ok(await cluster.api.merge(path, { spec: { decisions: { "7": null } } }, BOB));
  });
});

describe("a decision that cheats is refused", () => {
  /** What is parked, what is tried, by whom, and a part of what they are told. */
  const cheats: readonly (readonly [string, Setup, Record<string, unknown>, Caller, string])[] = [
    [
      "without the verb",
      {},
      approve(CAROL),
      CAROL,
      "user carol@example.com may not decide: the verb approve on runs.holdpoint.dev is missing",
    ],
    ["signed with another name", {}, approve(ANN), BOB, "set by: bob@example.com"],
    [
      "with another call's digest",
      {},
      { ...approve(ANN), callDigest: OTHER_DIGEST },
      ANN,
      `callDigest is not that of the parked call: you looked at another one. Now parked: call 7 ${DIGEST}`,
    ],
    [
      "without the digest of a cut preview [case c07]",
      { call: { previewCut: true } },
      approve(ANN),
      ANN,
      `must carry the callDigest of what you read in full: call 7 ${DIGEST}`,
    ],
    [
      "by nobody of the named group [case c09]",
      { call: { approvers: { groups: ["sre"] } } },
      approve(BOB),
      BOB,
      "bob@example.com is not among the approvers of this call",
    ],
    [
      "by no named user",
      { call: { approvers: { users: [BOB.user] } } },
      approve(ANN),
      ANN,
      "is not among the approvers",
    ],
    [
      "by the requester, under notRequester",
      { call: { approvers: { notRequester: true } } },
      approve(DAVE),
      DAVE,
      "whoever created the Run may not decide this call (notRequester)",
    ],
    [
      "by the requester, in a named group, under notRequester",
      { call: { approvers: { groups: ["sre"], notRequester: true } } },
      approve(DAVE),
      DAVE,
      "notRequester",
    ],
    [
      "with an action that is not offered",
      { call: { reason: "InputRequired", actions: ["Answer", "Reject"] } },
      approve(ANN),
      ANN,
      "call 7 takes Answer or Reject",
    ],
    [
      "with answers to an approval",
      {},
      { ...approve(ANN), answers: { a: 1 } },
      ANN,
      "answers go with that action only",
    ],
    [
      "Answer without answers",
      { call: { actions: ["Answer"] } },
      { action: "Answer", by: ANN.user },
      ANN,
      "action: Answer needs answers",
    ],
    [
      "changed by somebody else [case c01]",
      { decided: { by: ANN, action: "Approve" } },
      { action: "Reject", by: BOB.user },
      BOB,
      "already decided, and a decision cannot be changed: call 7 (Approve by ann@example.com)",
    ],
    [
      "changed by who wrote it",
      { decided: { by: ANN, action: "Approve" } },
      { action: "Reject" },
      ANN,
      "call 7 (Approve by ann@example.com)",
    ],
    [
      "with a reason added by somebody else",
      { decided: { by: ANN, action: "Approve" } },
      { reason: "no!" },
      BOB,
      "already decided",
    ],
  ];

  test.each(cheats)("%s", async (_, setup, decision, caller, message) => {
    const path = await parkedRun(setup);
    const before = await decisionsOf(path);
    refused(await decide(path, decision, caller), message);
    expect(await decisionsOf(path)).toEqual(before);
  });

  test("on a call that is not parked, and says which are", async () => {
    refused(await decide(await parkedRun(), approve(ANN), ANN, "8"), "not parked: 8; parked are 7");
  });

  test("removed while its call is parked, also by a replace that drops it [case e05]", async () => {
    const path = await parkedRun({ decided: { by: ANN, action: "Approve" } });
    refused(
      await cluster.api.merge(path, { spec: { decisions: { "7": null } } }, ANN),
      "cannot be removed while its call is parked: 7",
    );
    const { body } = ok(await cluster.api.get(path));
    const { decisions: _, ...spec } = body.spec ?? {};
    refused(await cluster.api.put(path, { ...body, spec }, ANN), "must ignore spec.decisions");
  });

  test("at creation of the Run", async () => {
    const draft = run({ decisions: { "1": approve(ANN) } }, "decided-early");
    refused(await cluster.api.post(cluster.path("Run"), draft, ANN), "a Run is created without decisions");
  });

  test("by an apply of somebody without the verb", async () => {
    const path = await parkedRun();
    const name = path.split("/").at(-1) ?? "";
    const applied = run({ input: { repo: "acme/app" }, decisions: { "7": approve(CAROL) } }, name);
    refused(
      await cluster.api.apply(path, applied, "carol", CAROL),
      "the verb approve on runs.holdpoint.dev is missing",
    );
  });
});

describe("two people decide at the same second [case c01]", () => {
  test("exactly one decision stands, and the other is told whose", async () => {
    for (let round = 0; round < 100; round++) {
      const path = await parkedRun();
      const answers = await Promise.all([
        decide(path, approve(ANN), ANN),
        decide(path, { action: "Reject", by: BOB.user, reason: "no" }, BOB),
      ]);
      expect(answers.filter(({ code }) => code === 200)).toHaveLength(1);
      const annFirst = answers[0]?.code === 200;
      const loser = answers[annFirst ? 1 : 0];
      expect(loser?.body.message).toContain(annFirst ? "(Approve by ann@example.com)" : "(Reject by bob@example.com)");
      expect(await decisionsOf(path)).toEqual({
        "7": annFirst ? approve(ANN) : { action: "Reject", by: BOB.user, reason: "no" },
      });
    }
  }, 120_000);
});

describe("the requester", () => {
  const REQUESTER = "holdpoint.dev/requester";
  const annotation = (answer: ApiAnswer) =>
    (ok(answer).body.metadata?.["annotations"] as Record<string, string> | undefined)?.[REQUESTER];
  const claimed = (name: string, requester: string) => {
    const draft = run({}, name);
    return { ...draft, metadata: { ...draft.metadata, annotations: { team: "a", [REQUESTER]: requester } } };
  };

  test("is who created the Run, whatever the client wrote", async () => {
    expect(annotation(await cluster.api.post(cluster.path("Run"), run({}, "plain"), CAROL))).toBe(CAROL.user);
    const answer = await cluster.api.post(cluster.path("Run"), claimed("claimed", ANN.user), CAROL);
    expect(annotation(answer)).toBe(CAROL.user);
    expect(answer.body.metadata?.["annotations"]).toEqual({ team: "a", [REQUESTER]: CAROL.user });
  });

  test("is what the controller says for a child Run", async () => {
    expect(annotation(await cluster.api.post(cluster.path("Run"), claimed("child", DAVE.user), CONTROLLER))).toBe(
      DAVE.user,
    );
  });

  test.each([
    ["changed", BOB.user],
    ["removed", null],
  ])("cannot be %s later", async (_, value) => {
    const path = await parkedRun();
    const answer = await cluster.api.merge(path, { metadata: { annotations: { [REQUESTER]: value } } }, DAVE);
    refused(answer, "the annotation holdpoint.dev/requester says who created the Run");
  });
});

describe("a Run's spec and status", () => {
  test.each([
    ["changed", { repo: "acme/other" }],
    ["removed", null],
  ])("input cannot be %s", async (_, input) => {
    const path = await parkedRun();
    refused(
      await cluster.api.merge(path, { spec: { input } }, DAVE),
      "this would change spec.input: create a new Run instead",
    );
  });

  test("input cannot be set later", async () => {
    ok(await cluster.api.post(cluster.path("Run"), run({}, "without-input"), DAVE));
    const answer = await cluster.api.merge(`${cluster.path("Run")}/without-input`, { spec: { input: 1 } }, DAVE);
    refused(answer, "this would change spec.input");
  });

  test("cancel needs no verb of its own", async () => {
    ok(await cluster.api.merge(await parkedRun(), { spec: { cancel: true } }, CAROL));
  });

  test("status is the controller's alone, also where RBAC would let others", async () => {
    const path = await parkedRun();
    const forged = { status: { parked: null } };
    refused(
      await cluster.api.merge(`${path}/status`, forged, CAROL),
      "status is written by the controller only, not by carol@example.com",
    );
  });
});

describe("names of Secrets and service accounts", () => {
  beforeAll(async () => {
    await cluster.kubectl(
      "create",
      "role",
      "one-secret",
      "--verb=get",
      "--resource=secrets",
      "--resource-name=run-token",
    );
    await cluster.kubectl("create", "rolebinding", "one-secret", "--role=one-secret", `--user=${CAROL.user}`);
    await cluster.kubectl(
      "create",
      "role",
      "one-account",
      "--verb=create",
      "--resource=serviceaccounts/token",
      "--resource-name=triage",
    );
    await cluster.kubectl("create", "rolebinding", "one-account", "--role=one-account", `--user=${CAROL.user}`);
  });
  const withSecret = (name: string) => ({ credentials: [{ server: "github", secretRef: { name, key: "token" } }] });

  test("a Run may name a Secret that its author can read, and no other", async () => {
    ok(await cluster.api.post(cluster.path("Run"), run(withSecret("run-token"), "readable"), CAROL));
    const answer = await cluster.api.post(cluster.path("Run"), run(withSecret("root-token"), "unreadable"), CAROL);
    refused(
      answer,
      "whoever names a Secret needs the verb get on it, and user carol@example.com lacks it for one of: root-token",
    );
  });

  test("a Credential too, and who only edits it is not asked", async () => {
    const path = cluster.path("Credential");
    ok(await cluster.api.post(path, credential({ secretRef: { name: "run-token" } }), CAROL));
    refused(
      await cluster.api.merge(`${path}/github`, { spec: { secretRef: { name: "root-token" } } }, CAROL),
      "root-token",
    );
    ok(await cluster.api.merge(`${path}/github`, { spec: { endUser: "cust-42" } }, BOB));
  });

  test("a Toolset's notifications too", async () => {
    const notifications = { url: "https://h.example.com", secretRef: { name: "root-token", key: "k" } };
    refused(
      await cluster.api.post(cluster.path("Toolset"), toolset({ notifications }, "notified"), CAROL),
      "root-token",
    );
  });

  test("a service account needs create on its token", async () => {
    const path = cluster.path("Toolset");
    ok(await cluster.api.post(path, toolset({ dispatcher: { serviceAccountName: "triage" } }, "own"), CAROL));
    const answer = await cluster.api.post(
      path,
      toolset({ dispatcher: { serviceAccountName: "root" } }, "borrowed"),
      CAROL,
    );
    refused(answer, "names the service account root without the verb create on its serviceaccounts/token");
  });
});

describe("GitOps [case e05]", () => {
  test("an apply of the same manifest after an approval leaves decisions alone", async () => {
    const manifest = run({ input: { repo: "acme/app" } }, "from-git");
    const path = `${cluster.path("Run")}/from-git`;
    ok(await cluster.api.apply(path, manifest, "argocd", DAVE));
    const parked = {
      id: "7",
      seq: 7,
      tool: "a.b",
      reason: "ApprovalRequired",
      message: "",
      since: "2026-05-01T12:00:00Z",
      callDigest: DIGEST,
      actions: ["Approve"],
    };
    ok(await cluster.api.merge(`${path}/status`, { status: { parked: [parked] } }, CONTROLLER));
    ok(await decide(path, approve(ANN), ANN));
    ok(await cluster.api.apply(path, manifest, "argocd", DAVE));
    expect(await decisionsOf(path)).toEqual({ "7": approve(ANN) });
    const manifestText = JSON.stringify(manifest);
    expect(
      await cluster.kubectlWithInput(manifestText, "diff", "--server-side", "--field-manager=argocd", "-f", "-"),
    ).toBe("");
  });
});
