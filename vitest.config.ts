import { defineConfig } from "vitest/config";

const unit = ["src/**/*.test.ts", "test/architecture/**/*.test.ts"];

export default defineConfig({
  test: {
    // A test that needs longer says so itself; nothing waits for ever.
    testTimeout: 30_000,
    hookTimeout: 60_000,
    projects: [
      { test: { name: "unit", include: [...unit, "test/objects/**/*.test.ts", "test/journal/pglite.test.ts"] } },
    ],
  },
});
