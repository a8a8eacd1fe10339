import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Json } from "../../src/base/exact-json.ts";
import { MemoryObjectStore, type MemoryStoreOptions } from "../../src/objects/memory-store.ts";
import { StateFolder } from "../../src/objects/state-folder.ts";
import { describeObjectStore } from "./object-store.suite.ts";

const TRIAGE = { namespace: "agents", name: "triage" };
const RUN = { namespace: "agents", name: "r1" };

async function openStore(options: Partial<MemoryStoreOptions> = {}): Promise<MemoryObjectStore> {
  const store = await MemoryObjectStore.open({ onHandlerError: () => undefined, ...options });
  onTestFinished(() => store.close());
  return store;
}

async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "holdpoint-state-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  return folder;
}

describe("the in-memory store as an ObjectStore", () => {
  describeObjectStore(async () => {
    const store = await openStore();
    return { store, namespace: "agents", setSpec: (key, spec) => store.patchSpec("Run", key, spec as Json) };
  });
});

describe("what only the in-memory store does", () => {
  test("apply creates, then updates what the manifest says, and leaves an equal manifest alone", async () => {
    const store = await openStore();
    const first = await store.apply("Toolset", {
      metadata: { ...TRIAGE, labels: { team: "a" } },
      spec: { servers: [] },
    });
    const ready = await store.writeStatus("Toolset", first, { digest: "sha256:1" });
    const same = await store.apply("Toolset", {
      metadata: { ...TRIAGE, labels: { team: "a" } },
      spec: { servers: [] },
    });
    expect(same).toBe(ready);
    const changed = await store.apply("Toolset", { metadata: TRIAGE, spec: { servers: [], suspend: true } });
    expect(changed.metadata).toMatchObject({ uid: first.metadata.uid, generation: 2 });
    expect(changed.metadata.labels).toBeUndefined();
    expect(changed.status).toEqual({ digest: "sha256:1" });
  });

  test("apply keeps a Secret's text as base64, and refuses a change of immutable data", async () => {
    const store = await openStore();
    const metadata = { namespace: "agents", name: "token" };
    const secret = await store.apply("Secret", { metadata, stringData: { token: "péché" } });
    expect(Buffer.from(secret.data?.token ?? "", "base64").toString("utf8")).toBe("péché");
    await store.apply("ConfigMap", { metadata, data: { a: "1" }, immutable: true });
    const change = store.apply("ConfigMap", { metadata, data: { a: "2" }, immutable: true });
    await expect(change).rejects.toMatchObject({ reason: "Refused" });
  });

  test("a decision is merged into spec and leaves the others", async () => {
    const store = await openStore();
    await store.apply("Run", { metadata: RUN, spec: { script: "x", decisions: { "1": { action: "Approve" } } } });
    const decided = await store.patchSpec("Run", RUN, { decisions: { "2": { action: "Reject" } } });
    expect(decided.spec).toEqual({
      script: "x",
      decisions: { "1": { action: "Approve" }, "2": { action: "Reject" } },
    });
    expect((await store.patchSpec("Run", RUN, { decisions: { "1": null } })).metadata.generation).toBe(3);
    const absent = store.patchSpec("Run", { namespace: "agents", name: "absent" }, {});
    await expect(absent).rejects.toMatchObject({ reason: "NotFound" });
  });

  test("admission sees old and new, and its faults are all in the refusal", async () => {
    const store = await openStore({
      admit: (_kind, _next, previous) =>
        previous === undefined ? [] : ["spec.script: is immutable", "spec.x: is new"],
    });
    await store.apply("Run", { metadata: RUN, spec: { script: "x" } });
    const change = store.apply("Run", { metadata: RUN, spec: { script: "y" } });
    await expect(change).rejects.toMatchObject({
      reason: "Refused",
      message: expect.stringMatching(/spec\.script: is immutable; spec\.x: is new/),
    });
  });

  test("an object cannot be changed in place by who reads it", async () => {
    const store = await openStore();
    const run = await store.apply("Run", { metadata: RUN, spec: { input: { list: [1] } } });
    expect(() => (run.spec as { input: { list: number[] } }).input.list.push(2)).toThrow(TypeError);
  });

  test("what an object owns goes with it", async () => {
    const store = await openStore();
    const parent = await store.apply("Run", { metadata: RUN, spec: {} });
    const owner = { apiVersion: parent.apiVersion, kind: "Run", name: "r1", uid: parent.metadata.uid };
    const child = { namespace: "agents", name: "child" };
    await store.create("Run", { metadata: { ...child, ownerReferences: [owner] }, spec: {} });
    await store.delete("Run", RUN);
    expect(await store.read("Run", child)).toBeUndefined();
  });

  test("events are counted up when they repeat, and bounded in number", async () => {
    const store = await openStore();
    const run = await store.apply("Run", { metadata: RUN, spec: {} });
    const parked = { type: "Normal", reason: "Parked", message: "call 7 waits" } as const;
    store.emit("Run", run, parked);
    store.emit("Run", run, parked);
    expect(store.events()).toMatchObject([{ ...parked, name: "r1", count: 2 }]);
    for (let index = 0; index < 1_500; index++) store.emit("Run", run, { ...parked, message: `call ${index}` });
    expect(store.events()).toHaveLength(1_000);
    expect(store.events().at(-1)?.message).toBe("call 1499");
  });
});

describe("the state folder", () => {
  test("objects survive a restart with uid, status, exact integers and deletion", async () => {
    const folder = await temporaryFolder();
    const first = await openStore({ folder: new StateFolder(folder) });
    const created = await first.apply("Run", { metadata: RUN, spec: { input: { id: 9007199254740993n } } });
    const run = await first.writeStatus("Run", created, { phase: "Parked" });
    const long = { namespace: "agents", name: "n".repeat(253) };
    const held = await first.patchMetadata("Run", await first.create("Run", { metadata: long, spec: {} }), {
      finalizers: ["example.com/hold"],
    });
    await first.delete("Run", long);
    await first.apply("Toolset", { metadata: TRIAGE, spec: {} });
    await first.delete("Toolset", TRIAGE);

    const second = await openStore({ folder: new StateFolder(folder) });
    expect(await second.read("Run", RUN)).toEqual(run);
    expect((await second.read("Run", long))?.metadata).toMatchObject({ uid: held.metadata.uid });
    expect((await second.read("Run", long))?.metadata.deletionTimestamp).toBeDefined();
    expect(await second.list("Toolset")).toEqual([]);
    const next = await second.writeStatus("Run", run, { phase: "Running" });
    expect(Number(next.metadata.resourceVersion)).toBeGreaterThan(Number(run.metadata.resourceVersion));
  });

  test("[semantics 8.3] no Secret is written to disk, and files are for their owner only", async () => {
    const folder = await temporaryFolder();
    const store = await openStore({ folder: new StateFolder(folder) });
    await store.apply("Secret", { metadata: { namespace: "agents", name: "token" }, stringData: { token: "planted" } });
    await store.apply("Run", { metadata: RUN, spec: {} });
    const files = (await readdir(folder, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile());
    expect(files.map((entry) => entry.name)).toEqual(["r1.json"]);
    expect((await stat(join(folder, "Run", "agents", "r1.json"))).mode & 0o777).toBe(0o600);
  });

  test("every corrupt file is named, and nothing is started on a part of the state", async () => {
    const folder = await temporaryFolder();
    const store = await openStore({ folder: new StateFolder(folder) });
    await store.apply("Run", { metadata: RUN, spec: {} });
    await store.apply("Toolset", { metadata: TRIAGE, spec: {} });
    const runFile = join(folder, "Run", "agents", "r1.json");
    const toolsetFile = join(folder, "Toolset", "agents", "triage.json");
    await writeFile(runFile, (await readFile(runFile, "utf8")).slice(0, 40));
    await writeFile(toolsetFile, `{"kind":"Toolset","metadata":{"name":"triage"}}`);
    const opened = MemoryObjectStore.open({ folder: new StateFolder(folder), onHandlerError: () => undefined });
    await expect(opened).rejects.toMatchObject({
      code: "StateFolderCorrupt",
      faults: [{ path: toolsetFile, message: expect.stringContaining("metadata.uid") }, { path: runFile }],
    });
  });

  test("a write that was cut short is forgotten", async () => {
    const folder = await temporaryFolder();
    const store = await openStore({ folder: new StateFolder(folder) });
    await store.apply("Run", { metadata: RUN, spec: {} });
    const leftover = join(folder, "Run", "agents", "r1.json.5f0c.tmp");
    await writeFile(leftover, `{"half":`);
    const again = await openStore({ folder: new StateFolder(folder) });
    expect(await again.list("Run")).toHaveLength(1);
    await expect(stat(leftover)).rejects.toMatchObject({ code: "ENOENT" });
  });
});
