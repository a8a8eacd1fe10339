import { expect, test } from "vitest";
import { systemErrorCodes } from "../base/errors.ts";
import { conditions, parkReasons, resolveReasons, runConditions, toolsetConditions } from "./conditions.ts";

const REASON = /^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$/;

test("every reason has the form that Kubernetes demands of one, and says what it means", () => {
  for (const definitions of Object.values(conditions)) {
    for (const [type, { present, reasons }] of Object.entries(definitions)) {
      expect(present, type).toMatch(/\.$/);
      for (const [reason, meaning] of Object.entries(reasons)) {
        expect(reason).toMatch(REASON);
        expect(meaning, reason).toMatch(/\.$/);
      }
    }
  }
});

test("a parked call's condition takes every reason to park and every way to end", () => {
  const expected = [...Object.keys(parkReasons), ...Object.keys(resolveReasons)];
  expect(Object.keys(runConditions["Parked-*"].reasons)).toEqual(expected);
});

test("an error that keeps a Toolset from being pinned is a reason of Ready [semantics 1.5, 1.7]", () => {
  const pinningErrors = [
    "ServerUnreachable",
    "AuthenticationFailed",
    "PagingLoop",
    "ReservedName",
    "NameClash",
    "OutwardNotIdempotent",
  ];
  for (const code of [...pinningErrors, "NotSupportedYet"]) {
    expect(Object.keys(systemErrorCodes)).toContain(code);
    expect(Object.keys(toolsetConditions.Ready.reasons)).toContain(code);
  }
});
