import { defineConfig } from "vitest/config";

/** Tests that need a server are projects of their own, so that a file without one starts none. */
const project = (name: string, include: string[], globalSetup: string[] = []) => ({ test: { name, include, globalSetup } });
const postgres = "test/postgres/global-setup.ts";

export default defineConfig({
  test: {
    // A test that needs longer says so itself; nothing waits for ever.
    testTimeout: 30_000,
    hookTimeout: 60_000,
    projects: [
      project("unit", [
        "src/**/*.test.ts",
        "test/{architecture,objects,mcp,sandbox,typecheck,declarations,toolset}/**/*.test.ts",
        "test/journal/{pglite,group-commit}.test.ts",
      ]),
      project("postgres", ["test/{dispatcher,postgres}/**/*.test.ts", "test/journal/postgres.test.ts"], [postgres]),
    ],
  },
});
