import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { HoldpointError } from "../../src/base/errors.ts";
import { parseManifestText } from "../../src/local/manifest-text.ts";
import { readManifests } from "../../src/local/manifests.ts";

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "holdpoint-manifests-"));
});
afterAll(() => rm(folder, { recursive: true }));

async function file(name: string, text: string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, text);
  return path;
}

async function faultsOf(...files: string[]): Promise<string[]> {
  const refused: HoldpointError = await readManifests(files).then(
    () => expect.fail("the manifests were taken"),
    (error: HoldpointError) => error,
  );
  expect(refused.code).toBe("InvalidManifest");
  return refused.faults.map(({ path, message }) => `${path}: ${message}`);
}

const TOOLSET = `apiVersion: holdpoint.dev/v1alpha1
kind: Toolset
metadata: {name: triage}
spec: {servers: [{name: tracker, url: "http://127.0.0.1:1/mcp"}]}
`;

function run(rest: string): string {
  return `apiVersion: holdpoint.dev/v1alpha1
kind: Run
metadata: {name: r1, labels: {a: b}}
spec:
  toolset: {name: triage}
  script: export default () => 1
${rest}`;
}

test("[semantics 3.8] integers are exact, and what JSON cannot hold is a fault with its line", () => {
  const { documents, faults } = parseManifestText(
    "x.yaml",
    "big: 9007199254740993\nsmall: 7\nhex: 0x10\nfloat: 1.5\nlist: [1, .inf]\n---\n---\nsecond: true\n",
  );
  expect(documents.map(({ value }) => value)).toEqual([
    { big: 9007199254740993n, small: 7, hex: 16, float: 1.5, list: [1, null] },
    { second: true },
  ]);
  expect(faults).toEqual([{ path: "x.yaml:5 list[1]", message: "JSON has no such number" }]);
});

test("keys are data, __proto__ too, and paths with odd keys find their line", () => {
  const { documents } = parseManifestText("x.yaml", '__proto__: {a: 1}\n"a.b":\n  - x\n  - "c d": 2\n');
  expect(Object.keys(documents[0]?.value as object)).toEqual(["__proto__", "a.b"]);
  expect(documents[0]?.place('["a.b"][1]["c d"]')).toBe("x.yaml:4");
  expect(documents[0]?.place("nothing.here")).toBe("x.yaml:1");
});

test("all faults of all files are listed at once, by file, line and path", async () => {
  const broken = await file("broken.yaml", "a: [1\n---\nb: 2\n");
  const wrong = await file(
    "wrong.yaml",
    `${TOOLSET.replace("url:", "urll:")}---\n${run("  inputt: 1\n  cancel: maybe\n")}`,
  );
  const faults = await faultsOf(broken, wrong, join(folder, "absent.yaml"));
  const text = faults.join("\n");
  expect(text).toContain(`${broken}:`);
  expect(text).toContain(`${wrong}:4 spec.servers[0].urll: unknown field; did you mean url?`);
  expect(text).toContain(`${wrong}:12 spec.inputt: unknown field; did you mean input?`);
  expect(text).toContain(`${wrong}:13 spec.cancel: must be true or false, not a text`);
  expect(text).toMatch(/absent\.yaml: ENOENT/);
});

test("a Run whose Toolset is not among the files, and an object that stands twice, are refused", async () => {
  const path = await file("twice.yaml", `${run("")}---\n${run("")}`);
  const faults = await faultsOf(path);
  expect(faults).toContainEqual(expect.stringContaining(`${path}:9: Run default/r1 stands already at ${path}:2`));
  expect(faults).toContainEqual(expect.stringContaining('no Toolset "triage" in namespace default'));
});

test("Secrets are taken, and a broken one is refused without a word of what it holds", async () => {
  const secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {token: planted-7f3a}\n";
  const [taken] = await readManifests([await file("secret.yaml", secret)]);
  expect(taken?.kind).toBe("Secret");
  expect(taken?.object.stringData).toEqual({ token: "planted-7f3a" });
  const broken = secret.replace(
    "stringData: {token: planted-7f3a}",
    "data: {token: 'planted-7f3a !'}\nstringData: [planted-7f3a]",
  );
  const text = (await faultsOf(await file("secret.yaml", broken))).join("\n");
  expect(text).toContain("stringData");
  expect(text).not.toContain("planted");
  const notBase64 = secret.replace("stringData: {token: planted-7f3a}", "data: {token: 'planted-7f3a !'}");
  const named = (await faultsOf(await file("secret.yaml", notBase64))).join("\n");
  expect(named).toContain(":4 data.token: must be base64");
  expect(named).not.toContain("planted");
});

test("a generated name stays a beginning, and what kubectl adds to metadata is left out", async () => {
  const text = run("").replace(
    "name: r1,",
    "generateName: r-, uid: u1, resourceVersion: '7', creationTimestamp: null,",
  );
  const [, generated] = await readManifests([await file("ok.yaml", `${TOOLSET}---\n${text}`)]);
  expect(generated).toMatchObject({ kind: "Run", generateName: "r-", place: expect.stringMatching(/ok\.yaml:7$/) });
  expect(generated?.object.metadata).toEqual({ namespace: "default", name: "r-", labels: { a: "b" } });
});
