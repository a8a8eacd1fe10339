import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { parseManifest } from "../../src/api/manifest.ts";
import { unsupportedPaths } from "../../src/api/supported.ts";
import { errorCodes } from "../../src/base/errors.ts";
import { renderDeclarations } from "../../src/declarations/render.ts";
import { createMcpSource } from "../../src/tools/mcp/source.ts";
import { makePin } from "../../src/toolset/make-pin.ts";
import { checkScript } from "../../src/typecheck/check-script.ts";
import { startTracker } from "../path/mcp-servers.ts";

const ROOT = join(import.meta.dirname, "../..");
const read = (path: string) => readFileSync(join(ROOT, path), "utf8");
const pages = [
  "README.md",
  ...readdirSync(join(ROOT, "docs")).flatMap((f) => (f.endsWith(".md") ? [`docs/${f}`] : [])),
];
const flagsIn = (text: string) => [...new Set(text.match(/--[a-z][a-z-]+/g))].sort();
const anchorOf = (title: string) =>
  title
    .toLowerCase()
    .replace(/[^\w\- ]/g, "")
    .replaceAll(" ", "-");

test.each(pages)("%s: relative links and anchors lead somewhere", (page) => {
  for (const [, path = "", anchor] of read(page).matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)/g)) {
    const target = path === "" ? page : join(dirname(page), path);
    expect(existsSync(join(ROOT, target)), target).toBe(true);
    if (anchor === undefined) continue;
    const anchors = [...read(target).matchAll(/^#+ (.*)$/gm)].map(([, title = ""]) => anchorOf(title));
    expect(anchors).toContain(anchor);
  }
});

test("the quickstart has at most 350 words", () => {
  const quickstart = /^## Quickstart$([\s\S]*?)^## /m.exec(read("README.md"))?.[1] ?? "";
  const words = quickstart.split(/\s+/).length;
  expect(words).toBeGreaterThan(50);
  expect(words).toBeLessThanOrEqual(350);
});

test.each([
  ["docs/local.md", ["src/bin/holdpoint.ts", "dev"]],
  ["docs/cluster.md", ["src/bin/controller.ts"]],
])("%s names the flags of --help, and no other", (page, program) => {
  const help = execFileSync(process.execPath, [...program, "--help"], { cwd: ROOT, encoding: "utf8" });
  const rows = read(page)
    .split("\n")
    .filter((line) => line.startsWith("|"));
  expect(flagsIn(rows.join("\n"))).toEqual(flagsIn(help).filter((flag) => flag !== "--help"));
});

test("docs/toolsets.md names every field that is not supported yet", () => {
  const page = read("docs/toolsets.md");
  expect(unsupportedPaths("Toolset").filter((path) => !page.includes(`\`${path}\``))).toEqual([]);
});

test("docs/errors.md has every code", () => {
  const page = read("docs/errors.md");
  expect(Object.keys(errorCodes).filter((code) => !page.includes(`| \`${code}\` |`))).toEqual([]);
});

test("every manifest in the pages is accepted", () => {
  const blocks = pages.flatMap((page) =>
    [...read(page).matchAll(/^```yaml\n([\s\S]*?)^```/gm)].map(([, text = ""]) => text),
  );
  const manifests = blocks.filter((text) => text.startsWith("apiVersion:"));
  expect(manifests.length).toBeGreaterThan(0);
  for (const text of manifests) expect(parseManifest(parse(text))).not.toHaveProperty("faults");
});

test("every script of the pages type-checks against the example's tools", async () => {
  const tracker = await startTracker();
  const source = createMcpSource({ url: tracker.url });
  const { tools } = await source.list(AbortSignal.timeout(20_000));
  await source.close();
  await tracker.stop();
  const server = { name: "tracker", url: tracker.url, protocol: "Auto", auth: "None", headers: {} };
  const made = makePin({ servers: [{ server, selection: {}, tools }], policies: [], limits: {}, reservedNames: [] });
  if (!made.ok) throw new Error(JSON.stringify(made.faults));
  const { declarationText } = renderDeclarations(made.pin);
  const scripts = [...read("docs/scripts.md").matchAll(/```ts\n([\s\S]*?)```/g)];
  expect(scripts.length).toBeGreaterThan(0);
  for (const [, script = ""] of scripts)
    expect(checkScript({ declarationText, script })).toMatchObject({ ok: true, warnings: [] });
  const [, wrong = ""] = scripts[0] ?? [];
  expect(checkScript({ declarationText, script: wrong.replace("list_issues", "list_isues") })).toMatchObject({
    ok: false,
  });
});
