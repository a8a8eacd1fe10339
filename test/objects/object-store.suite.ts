import { expect, onTestFinished, test } from "vitest";
import type { ObjectKey, ObjectStore, StoredObject } from "../../src/objects/store.ts";

/** What differs between the stores under test. */
export interface StoreFixture {
  readonly store: ObjectStore;
  /** A namespace that no other test uses. */
  readonly namespace: string;
  /** Somebody else (a user) changes an object's spec. */
  setSpec(key: ObjectKey, spec: Record<string, unknown>): Promise<StoredObject>;
}

/** The rules of the ObjectStore port, held by every store. `open` makes a fixture for one test and may close it afterwards. */
export function describeObjectStore(open: () => Promise<StoreFixture>): void {
  async function withRun(name = "r1"): Promise<StoreFixture & { run: StoredObject; key: ObjectKey }> {
    const fixture = await open();
    const key = { namespace: fixture.namespace, name };
    const run = await fixture.store.create("Run", { metadata: key, spec: runSpec("1h") });
    return { ...fixture, run, key };
  }

  test("a created object has an identity, and cannot be created twice", async () => {
    const { store, run, key } = await withRun();
    expect(run).toMatchObject({ apiVersion: "holdpoint.dev/v1alpha1", kind: "Run", spec: runSpec("1h") });
    expect(run.metadata).toMatchObject({ ...key, generation: 1 });
    expect(run.metadata.uid).toMatch(/^[0-9a-f-]{36}$/);
    expect(Date.parse(run.metadata.creationTimestamp)).toBeGreaterThan(0);
    expect(await store.read("Run", key)).toEqual(run);
    await expect(store.create("Run", { metadata: key, spec: runSpec("2h") })).rejects.toMatchObject({
      name: "ObjectStoreError",
      reason: "Exists",
    });
  });

  test("labels, annotations and owners are kept, and a bad name is refused with the store's own words", async () => {
    const { store, namespace, run } = await withRun();
    const metadata = {
      namespace,
      name: "declarations",
      labels: { "holdpoint.dev/toolset": "triage" },
      annotations: { note: "kept" },
      ownerReferences: [{ apiVersion: run.apiVersion, kind: run.kind, name: "r1", uid: run.metadata.uid }],
    };
    const made = await store.create("ConfigMap", { metadata, data: { "tools.d.ts": "…" }, immutable: true });
    expect(made).toMatchObject({ metadata, data: { "tools.d.ts": "…" }, immutable: true });
    expect(made.metadata.generation).toBe(0);
    const bad = { namespace, name: "Not_A_Name" };
    const refusal = store.create("Run", { metadata: bad, spec: runSpec("5h") });
    await expect(refusal).rejects.toMatchObject({
      reason: "Refused",
      message: expect.stringContaining("metadata.name"),
    });
  });

  test("[semantics 14.4] a status is written once: an equal one leaves the resourceVersion", async () => {
    const { store, run, key } = await withRun();
    const status = { phase: "Running", calls: { total: 1, succeeded: 0, failed: 0, parked: 0, inFlight: 1 } };
    const written = await store.writeStatus("Run", run, status);
    expect(written.status).toEqual(status);
    expect(written.spec).toEqual(run.spec);
    expect(written.metadata.generation).toBe(1);
    expect(written.metadata.resourceVersion).not.toBe(run.metadata.resourceVersion);
    const reordered = {
      calls: { total: 1, succeeded: 0, failed: 0, parked: 0, inFlight: 1 },
      phase: "Running",
      error: undefined,
    };
    const again = await store.writeStatus("Run", written, reordered);
    expect(again.metadata.resourceVersion).toBe(written.metadata.resourceVersion);
    expect((await store.read("Run", key))?.metadata.resourceVersion).toBe(written.metadata.resourceVersion);
  });

  test("a status replaces the one before: what it leaves out is gone, and null is a value", async () => {
    const { store, run } = await withRun();
    const before = await store.writeStatus("Run", run, {
      phase: "Running",
      wakeAt: "2030-01-01T00:00:00Z",
      result: [1],
    });
    const after = await store.writeStatus("Run", before, { phase: "Succeeded", result: { empty: null } });
    expect(after.status).toEqual({ phase: "Succeeded", result: { empty: null } });
  });

  test("[semantics 3.8] integers beyond a double keep their digits", async () => {
    const { store, run, key } = await withRun();
    await store.writeStatus("Run", run, { phase: "Succeeded", result: { id: 9007199254740993n } });
    expect((await store.read("Run", key))?.status).toMatchObject({ result: { id: 9007199254740993n } });
  });

  test("a write on an older state is a conflict, on a removed object NotFound", async () => {
    const { store, run, key } = await withRun();
    await store.writeStatus("Run", run, { phase: "Running" });
    await expect(store.writeStatus("Run", run, { phase: "Failed" })).rejects.toMatchObject({ reason: "Conflict" });
    const patch = store.patchMetadata("Run", run, { annotations: { a: "1" } });
    await expect(patch).rejects.toMatchObject({ reason: "Conflict" });
    await store.delete("Run", key);
    await expect(store.writeStatus("Run", run, { phase: "Failed" })).rejects.toMatchObject({ reason: "NotFound" });
  });

  test("of two writes on the same state one succeeds", async () => {
    const { store, run } = await withRun();
    const phases = ["Running", "Parked", "Sleeping", "Waiting"];
    const outcomes = await Promise.allSettled(phases.map((phase) => store.writeStatus("Run", run, { phase })));
    expect(outcomes.filter((outcome) => outcome.status === "fulfilled")).toHaveLength(1);
    const reasons = outcomes.map((outcome) => (outcome.status === "rejected" ? outcome.reason.reason : "written"));
    expect(reasons.filter((reason) => reason === "Conflict")).toHaveLength(3);
  });

  test("a change of spec raises the generation, a change of status or metadata does not", async () => {
    const { store, run, key, setSpec } = await withRun();
    const written = await store.writeStatus("Run", run, { phase: "Running" });
    const annotated = await store.patchMetadata("Run", written, { annotations: { a: "1", b: "2" } });
    expect(annotated.metadata).toMatchObject({ generation: 1, annotations: { a: "1", b: "2" } });
    const changed = await setSpec(key, runSpec("2h"));
    expect(changed.metadata).toMatchObject({ generation: 2, uid: run.metadata.uid });
    expect(changed.status).toEqual({ phase: "Running" });
    const cleared = await store.patchMetadata("Run", changed, { annotations: { a: null } });
    expect(cleared.metadata.annotations).toEqual({ b: "2" });
  });

  test("a finalizer holds a deleted object until it is removed", async () => {
    const { store, run, key } = await withRun();
    const held = await store.patchMetadata("Run", run, { finalizers: ["holdpoint.dev/unfinished-runs"] });
    await store.delete("Run", key);
    const deleted = await store.read("Run", key);
    expect(deleted?.metadata.deletionTimestamp).toBeDefined();
    expect(deleted?.metadata.generation).toBe(held.metadata.generation + 1);
    if (deleted === undefined) return;
    const more = store.patchMetadata("Run", deleted, {
      finalizers: ["holdpoint.dev/unfinished-runs", "example.com/b"],
    });
    await expect(more).rejects.toMatchObject({ reason: "Refused" });
    await store.patchMetadata("Run", deleted, { finalizers: [] });
    expect(await store.read("Run", key)).toBeUndefined();
  });

  test("delete does nothing to an absent object or to another uid", async () => {
    const { store, namespace, run, key } = await withRun();
    await store.delete("Run", { namespace, name: "absent" });
    await store.delete("Run", key, "00000000-0000-4000-8000-000000000000");
    expect((await store.read("Run", key))?.metadata.uid).toBe(run.metadata.uid);
    await store.delete("Run", key, run.metadata.uid);
    expect(await store.read("Run", key)).toBeUndefined();
  });

  test("list gives all objects of a kind, or those of one namespace", async () => {
    const { store, namespace } = await withRun("r1");
    await store.create("Run", { metadata: { namespace, name: "r2" }, spec: runSpec("2h") });
    const mine = await store.list("Run", namespace);
    expect(mine.map((run) => run.metadata.name).sort()).toEqual(["r1", "r2"]);
    expect(mine[0]).toMatchObject({ apiVersion: "holdpoint.dev/v1alpha1", kind: "Run" });
    expect((await store.list("Run")).length).toBeGreaterThanOrEqual(2);
    expect(await store.list("Run", "elsewhere")).toEqual([]);
  });

  test("a watch tells what is there, then every change, and its cache has the newest", async () => {
    const { store, namespace, run, key, setSpec } = await withRun();
    const told: string[] = [];
    const mine = (): string[] => told.filter((name) => name.startsWith(`${namespace}/`));
    const cache = await store.watch("Run", ({ namespace, name }) => void told.push(`${namespace}/${name}`));
    expect(mine()).toEqual([`${namespace}/r1`]);
    expect(cache.get(key)).toEqual(run);

    const changed = await setSpec(key, runSpec("2h"));
    await expect.poll(() => cache.get(key), POLL).toEqual(changed);
    await store.create("Run", { metadata: { namespace, name: "r2" }, spec: runSpec("4h") });
    await expect.poll(() => cache.get({ namespace, name: "r2" })?.spec, POLL).toEqual(runSpec("4h"));
    expect([...cache.all()].filter((item) => item.metadata.namespace === namespace)).toHaveLength(2);
    await store.delete("Run", key);
    await expect.poll(() => cache.get(key), POLL).toBeUndefined();
    expect(new Set(mine())).toEqual(new Set([`${namespace}/r1`, `${namespace}/r2`]));
    expect(mine().length).toBeGreaterThanOrEqual(4);
  });

  test("two watches of one kind both hear; one whose handler throws disturbs nobody", async () => {
    const { store, namespace } = await withRun();
    const heard: string[] = [];
    await store.watch("Run", () => {
      throw new Error("a faulty handler");
    });
    await store.watch("Run", (key) => void heard.push(`${key.namespace}/${key.name}`));
    expect(heard).toContain(`${namespace}/r1`);
    await store.create("Run", { metadata: { namespace, name: "r2" }, spec: runSpec("2h") });
    await expect.poll(() => heard, POLL).toContain(`${namespace}/r2`);
  });

  test("a closed store tells nothing more", async () => {
    const { store, namespace, setSpec, key } = await withRun();
    const told: string[] = [];
    await store.watch("Run", (changed) => void told.push(changed.namespace));
    await setSpec(key, runSpec("2h"));
    await expect.poll(() => told.filter((item) => item === namespace).length, POLL).toBe(2);
    await store.close();
    await setSpec(key, runSpec("3h")).catch(() => undefined);
    expect(told.filter((item) => item === namespace)).toHaveLength(2);
    onTestFinished(() => store.close());
  });
}

/** What a user may change on a Run that exists: everything else in its spec is immutable. */
function runSpec(ttlAfterFinished: string): Record<string, unknown> {
  return { toolset: { name: "triage" }, script: "export default 1", ttlAfterFinished };
}

/** How long a change may take to reach a watch. */
const POLL = { timeout: 10_000, interval: 10 };
