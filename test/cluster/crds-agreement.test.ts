import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parseManifest } from "../../src/api/manifest.ts";
import { type ResourceCluster, startResourceCluster } from "./crds-cluster.ts";
import { credential, type Manifest, run, toolset, withPolicy, withServer } from "./crds-manifests.ts";

let cluster: ResourceCluster;
beforeAll(async () => {
  cluster = await startResourceCluster("agreement");
}, 900_000);
afterAll(() => cluster?.stop());

/** Texts put together from pieces that matter to a rule: most are nearly right. */
function pieces(...parts: readonly string[]): fc.Arbitrary<string> {
  return fc.array(fc.constantFrom(...parts), { minLength: 1, maxLength: 6 }).map((chosen) => chosen.join(""));
}

const urlPart = pieces(
  "h",
  "/",
  "?",
  "&",
  "=",
  "a",
  "token",
  "key",
  "%",
  "%41",
  "#",
  "@",
  ":",
  "80",
  "[::1]",
  "]",
  " ",
  "é",
  ".",
  "<",
  "\n",
);
const label = pieces("a", "B", "/", "-", ".", "_", "1", "é");
const name = pieces("a", "B", "-", ".", "1");

const subjects: readonly (readonly [string, fc.Arbitrary<Manifest>])[] = [
  [
    "a server's url",
    urlPart
      .chain((rest) => fc.constantFrom(rest, `https://${rest}`, `http://h/${rest}`, `https://h?${rest}`))
      .map((url) => withServer({ url })),
  ],
  [
    "a server's name",
    pieces("a", "Z", "_", "$", "9", "-", "\n", "é", "http", "delete").map((value) => withServer({ name: value })),
  ],
  [
    "a header's name",
    pieces("x", "-", "auth", "key", "Token", "secret", "_", "cookie", " ", "é", "accept", "content-").map((value) =>
      withServer({ headers: { [value]: "x" } }),
    ),
  ],
  [
    "a header's value",
    pieces("a", "\n", " ", "é", "\t", "~").map((value) => withServer({ headers: { "x-a": value } })),
  ],
  [
    "an audience",
    pieces("kubernetes", ".default", ".svc", "https://", "/", "api", "x", ":443").map((audience) =>
      withServer({ auth: "ServiceAccountToken", audience }),
    ),
  ],
  [
    "a duration",
    pieces("1", "0", "99999", "s", "ms", "h", "d", "m", " ", "-").map((timeout) => withPolicy({ timeout })),
  ],
  ["a tool pattern", pieces("a", ".", "*", " ", "é").map((tool) => withPolicy({ tools: [tool] }))],
  [
    "an allowed host",
    pieces("a", "*.", ".", "-", "B", ":", "80", "/", "_").map((host) => toolset({ http: { allowedHosts: [host] } })),
  ],
  [
    "a sandbox's memory",
    pieces("1", "64", "Mi", "Gi", "0", "Ki", "9999").map((memory) => toolset({ limits: { sandbox: { memory } } })),
  ],
  ["a label", fc.tuple(label, label).map(([key, value]) => toolset({ dispatcher: { podLabels: { [key]: value } } }))],
  ["a Toolset's name", name.map((value) => toolset({}, value))],
  ["a Run's name", name.map((value) => run({}, value))],
  [
    "a time",
    pieces("2026-05-01", "T", "12:00:00", "Z", "+02:00", ".5").map((rest) =>
      credential({ expiresAt: `2026-05-01T${rest}` }),
    ),
  ],
];

/** A refused manifest is refused before anything is sent, and one that passes locally passes in the cluster. */
test.each(subjects)("parseManifest and the API server agree about %s", async (_, manifests) => {
  await fc.assert(
    fc.asyncProperty(manifests, async (manifest) => {
      const answer = await cluster.api.post(
        `${cluster.path(manifest.kind)}?dryRun=All&fieldValidation=Strict`,
        manifest,
      );
      expect([201, 400, 422]).toContain(answer.code);
      expect({ accepted: parseManifest(manifest).ok, by: answer.body.message }).toEqual({
        accepted: answer.code === 201,
        by: answer.body.message,
      });
    }),
    { numRuns: 60 },
  );
});
