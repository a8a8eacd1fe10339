import { expect, test } from "vitest";
import type { RunSpec } from "../../src/api/run-spec.ts";
import type { RunStatus } from "../../src/api/run-status.ts";
import { applyRun, planRuns } from "../../src/local/local-runs.ts";
import type { LocalManifest } from "../../src/local/manifests.ts";
import { outlookOf, undecidedCalls } from "../../src/local/run-outlook.ts";
import { MemoryObjectStore } from "../../src/objects/memory-store.ts";
import type { StoredObject } from "../../src/objects/store.ts";

const DIGEST = `sha256:${"a".repeat(64)}`;
const KEY = { namespace: "default", name: "r1" };
const CALL = {
  id: "3",
  seq: 3,
  tool: "tracker.create_issue",
  reason: "ApprovalRequired",
  message: "",
  since: "2026-05-01T12:00:00Z",
  callDigest: DIGEST,
  actions: ["Approve", "Reject"],
} as const;

function manifest(spec: Partial<RunSpec> = {}, generateName?: string): LocalManifest {
  const object = {
    metadata: { namespace: "default", name: generateName ?? "r1" },
    spec: { toolset: { name: "triage" }, script: "export default () => 1", ...spec },
  };
  const named = { kind: "Run", object, place: "run.yaml:2", file: "run.yaml" } as const;
  return generateName === undefined ? named : { ...named, generateName };
}

function openStore(): Promise<MemoryObjectStore> {
  return MemoryObjectStore.open({ onHandlerError: (error) => expect.fail(String(error)) });
}

async function plan(store: MemoryObjectStore, from: LocalManifest) {
  const [only] = await planRuns(store, [from]);
  if (only === undefined) throw new Error("there is one manifest");
  return only;
}

async function storedRun(store: MemoryObjectStore, status: RunStatus): Promise<StoredObject> {
  await applyRun(store, await plan(store, manifest()), "ann");
  const run = (await store.read("Run", KEY)) as StoredObject;
  return await store.writeStatus("Run", run, status);
}

test("a new Run is created without its decisions, with the user as its requester", async () => {
  const store = await openStore();
  const decisions = { "3": { action: "Approve", by: "ann" } } as const;
  const planned = await plan(store, manifest({ decisions }));
  expect(planned.notes).toEqual(["the decision on call 3 is not taken: it is not parked now (nothing is)"]);
  await applyRun(store, planned, "ann");
  const run = await store.read("Run", KEY);
  expect(run?.spec).not.toHaveProperty("decisions");
  expect(run?.metadata.annotations).toEqual({ "holdpoint.dev/requester": "ann" });
});

test("the same spec is the same run and keeps its uid; another spec is a new one", async () => {
  const store = await openStore();
  const { metadata } = await storedRun(store, { phase: "Running" });
  const same = await plan(store, manifest({ ttlAfterFinished: "1h" }));
  expect(same.replaces).toBe(false);
  await applyRun(store, same, "ann");
  const after = await store.read("Run", KEY);
  expect(after?.metadata.uid).toBe(metadata.uid);
  expect(after?.spec).toMatchObject({ ttlAfterFinished: "1h" });
  expect((await plan(store, manifest({ input: 9007199254740993n as never }))).replaces).toBe(true);
});

test("[case c07] a decision of the file is held against the parked call as admission would", async () => {
  const store = await openStore();
  await storedRun(store, { phase: "Parked", parked: [{ ...CALL, actions: [...CALL.actions], previewCut: true }] });
  const decide = (decision: object) =>
    plan(store, manifest({ decisions: { "3": { by: "ann", ...decision } as never } }));
  const refused = (text: string) => ({ code: "InvalidManifest", faults: [expect.objectContaining({ message: text })] });
  await expect(decide({ action: "Approve" })).rejects.toMatchObject(
    refused(`the preview was cut, so the decision must carry callDigest: ${DIGEST}`),
  );
  await expect(decide({ action: "Approve", callDigest: DIGEST.replace("a", "b") })).rejects.toMatchObject(
    refused(`callDigest is not the parked call's, ${DIGEST}`),
  );
  await expect(decide({ action: "Answer", answers: 1 })).rejects.toMatchObject(
    refused("the call offers Approve, Reject, not Answer"),
  );
  const taken = await decide({ action: "Approve", callDigest: DIGEST });
  await applyRun(store, taken, "ann");
  const run = (await store.read("Run", KEY)) as StoredObject & { spec: RunSpec };
  expect(run.spec.decisions?.["3"]).toEqual({ action: "Approve", by: "ann", callDigest: DIGEST });
  const other = await decide({ action: "Reject", callDigest: DIGEST });
  expect(other.notes).toEqual(["call 3 was decided already: Approve by ann"]);
});

test("a generated name is that of the unfinished run it began, and a new one after it has ended", async () => {
  const store = await openStore();
  const first = await plan(store, manifest({}, "r-"));
  expect(first.key.name).toMatch(/^r-[0-9a-z]{5}$/);
  await applyRun(store, first, "ann");
  expect((await plan(store, manifest({}, "r-"))).key).toEqual(first.key);
  const run = (await store.read("Run", first.key)) as StoredObject;
  await store.writeStatus("Run", run, { phase: "Succeeded" });
  expect((await plan(store, manifest({}, "r-"))).key).not.toEqual(first.key);
});

const SPEC: RunSpec = { toolset: { name: "t" } };
const PARKED = [{ ...CALL, actions: [...CALL.actions] }];
const DECIDED: RunSpec = { ...SPEC, decisions: { "3": { action: "Approve", by: "ann" } } };

test.each<[string, RunSpec, RunStatus, string]>([
  ["no status yet", SPEC, {}, "going"],
  ["it sleeps: timers are waited for", SPEC, { phase: "Sleeping", wakeAt: "2026-05-01T12:00:00Z" }, "going"],
  ["parked and undecided", SPEC, { phase: "Parked", parked: PARKED }, "undecided"],
  ["parked, a decision is on its way", DECIDED, { phase: "Parked", parked: PARKED }, "going"],
  ["parked beside a timer", SPEC, { phase: "Parked", parked: PARKED, wakeAt: "2026-05-01T12:00:00Z" }, "going"],
  ["the last parked call was resolved a moment ago", DECIDED, { phase: "Parked", parked: [] }, "going"],
  ["a signal is awaited", SPEC, { phase: "Waiting", waitingFor: "Signal" }, "signal"],
  ["a server is tried again", SPEC, { phase: "Waiting", waitingFor: "Server" }, "going"],
  ["it failed", SPEC, { phase: "Failed" }, "finished"],
])("[architecture: locally] where a run stands: %s", (_, spec, status, outlook) => {
  expect(outlookOf({ spec, status })).toBe(outlook);
});

test("a call that was decided is not asked about again", () => {
  expect(undecidedCalls({ spec: DECIDED, status: { parked: PARKED } })).toEqual([]);
  expect(undecidedCalls({ spec: SPEC, status: { parked: PARKED } })).toHaveLength(1);
});
