import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";

const root = resolve(import.meta.dirname, "../..");
const PERMISSIVE = new Set([
  "MIT",
  "ISC",
  "Apache-2.0",
  "BSD-2-Clause",
  "BSD-3-Clause",
  "0BSD",
  "BlueOak-1.0.0",
  "CC0-1.0",
  "Unlicense",
  "Python-2.0",
  "MIT-0",
  "PostgreSQL",
  "PSF-2.0",
  "Zlib",
  "MPL-2.0",
]);
/** Packages whose manifest points to a file: read by a person, with what it says. */
const READ_BY_HAND: Readonly<Record<string, string>> = {
  "node_modules/@modelcontextprotocol/server-everything": "MIT AND Apache-2.0",
};

interface LockFile {
  packages: Record<string, { version?: string; license?: string; dev?: boolean; optional?: boolean; link?: boolean }>;
}

const lock = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")) as LockFile;
const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as Record<string, Record<string, string>>;

/** A licence expression is permissive when one side of every OR is, and all sides of an AND are. */
function isPermissive(expression: string): boolean {
  return expression
    .replaceAll(/[()]/g, "")
    .split(" OR ")
    .some((choice) => choice.split(" AND ").every((name) => PERMISSIVE.has(name.trim())));
}

function installedLicence(path: string): string | undefined {
  try {
    const { license } = JSON.parse(readFileSync(join(root, path, "package.json"), "utf8")) as {
      license?: string | { type: string };
    };
    return typeof license === "object" ? license.type : license;
  } catch {
    return undefined;
  }
}

test("the licences of all dependencies are permissive", () => {
  const packages = Object.entries(lock.packages).filter(([path]) => path !== "");
  expect(packages.length).toBeGreaterThan(50);
  const wrong = packages
    .map(
      ([path, entry]) =>
        [
          path,
          READ_BY_HAND[path] ?? entry.license ?? installedLicence(path) ?? (entry.optional ? "MIT" : "none"),
        ] as const,
    )
    .filter(([, licence]) => !isPermissive(licence));
  expect(wrong).toEqual([]);
});

test("the check refuses what is not permissive", () => {
  expect([
    isPermissive("GPL-3.0"),
    isPermissive("(MIT OR GPL-3.0)"),
    isPermissive("MIT AND GPL-3.0"),
    isPermissive("none"),
  ]).toEqual([false, true, false, false]);
});

test("every version is exact", () => {
  const versions = Object.entries({ ...manifest["dependencies"], ...manifest["devDependencies"] });
  expect(versions.filter(([, version]) => !/^(npm:[^@]+@|npm:@[^@]+@)?\d+\.\d+\.\d+(-[\w.]+)?$/.test(version))).toEqual(
    [],
  );
});
