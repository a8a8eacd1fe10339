import { expect, test } from "vitest";
import { runChaos } from "./chaos.ts";

const FAULTS_MS = 40_000;

test.skipIf(process.env["HOLDPOINT_TEST_DATABASE_URL"])(
  "runs come to their right end whatever fails around them: a minute of chaos [semantics 4, 5, 6, 7; journal]",
  async () => {
    const report = await runChaos({ seed: 4, faults: 1_000, paceMs: 500, durationMsMax: FAULTS_MS });
    expect({ violations: report.violations, evidence: report.evidence }).toEqual({ violations: [], evidence: [] });
    // It proves nothing when little happened.
    expect(report.faults).toBeGreaterThan(20);
    expect(report.faultsByKind.size).toBeGreaterThan(8);
    expect(report.runs).toBeGreaterThan(10);
    expect(report.decisions).toBeGreaterThan(5);
  },
  // After its last fault everything has three minutes to come to its end.
  300_000,
);
