import { defineConfig } from "vitest/config";

/** Tests that need a server are projects of their own, so that a file without one starts none. */
const project = (name: string, include: string[], globalSetup: string[] = []) => ({
  test: { name, include, globalSetup, testTimeout: TEST_TIMEOUT_MS, hookTimeout: HOOK_TIMEOUT_MS },
});
const postgres = "test/postgres/global-setup.ts";
const cluster = "test/cluster/global-setup.ts";
/** A test that needs longer says so itself; nothing waits for ever. */
const TEST_TIMEOUT_MS = 30_000;
const HOOK_TIMEOUT_MS = 120_000;

export default defineConfig({
  test: {
    projects: [
      project("unit", [
        "src/**/*.test.ts",
        "test/{architecture,docs,objects,mcp,typecheck}/**/*.test.ts",
        "test/journal/{pglite,group-commit,model}.test.ts",
      ]),
      project("sandbox", ["test/{sandbox,hostile,histories}/**/*.test.ts"]),
      project(
        "postgres",
        [
          "test/{chaos,dispatcher,postgres,controller}/**/*.test.ts",
          "test/journal/{postgres,row-security,toolset-access,pooler,plans}.test.ts",
        ],
        [postgres],
      ),
      project("kube", ["test/kube/**/*.test.ts"]),
      project("cluster", ["test/{cluster,cli}/**/*.test.ts"], [cluster]),
      project("local", ["test/local/**/*.test.ts"], [postgres]),
      project("path", ["test/path/**/*.test.ts"], [postgres, cluster]),
    ],
    // Two cores: the servers beside the tests need their share.
    maxWorkers: 2,
  },
});
