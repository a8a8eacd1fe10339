import { expect, test } from "vitest";
import { kubectlFits } from "./kubectl.ts";

const printed = (client: string, server: string) =>
  JSON.stringify({
    clientVersion: { major: "1", minor: client },
    serverVersion: { major: "1", minor: server },
  });

test("a kubectl fits a server one minor version older or newer", () => {
  expect(kubectlFits(printed("37", "37"))).toBe(true);
  expect(kubectlFits(printed("36+", "37"))).toBe(true);
  expect(kubectlFits(printed("38", "37+"))).toBe(true);
  expect(kubectlFits(printed("35", "37"))).toBe(false);
  expect(kubectlFits(printed("39", "37"))).toBe(false);
});

test("nothing fits a server that did not say its version", () => {
  expect(kubectlFits(JSON.stringify({ clientVersion: { major: "1", minor: "37" } }))).toBe(false);
});
