import { expect, test, vi } from "vitest";
import { freePorts } from "../servers/watched-server.ts";
import { startPostgres } from "./postgres.ts";

vi.mock("../servers/watched-server.ts", async (original) => {
  const real = await original<typeof import("../servers/watched-server.ts")>();
  return { ...real, freePorts: vi.fn(real.freePorts) };
});

const isHanded = Boolean(process.env["HOLDPOINT_TEST_DATABASE_URL"]);

test.skipIf(isHanded)("a port that another server took meanwhile is neither used nor the end", async () => {
  const first = await startPostgres({ fsync: false });
  const taken = Number(new URL(first.url).port);
  vi.mocked(freePorts).mockClear().mockResolvedValueOnce([taken]);
  const second = await startPostgres({ fsync: false });
  try {
    expect(vi.mocked(freePorts)).toHaveBeenCalledTimes(2);
    expect(second.url).not.toBe(first.url);
  } finally {
    await Promise.all([first.close(), second.close()]);
  }
});
