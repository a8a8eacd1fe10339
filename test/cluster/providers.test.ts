import { expect, test } from "vitest";
import { type ClusterSurroundings, chooseCluster } from "./providers.ts";

const everything: ClusterSurroundings = {
  handedKubeconfig: "/k",
  kindWorks: () => true,
  assetsFolder: "/a",
  hasServers: () => true,
};

test("a handed kubeconfig goes before kind, kind before binaries, those before building", () => {
  expect(chooseCluster(everything)).toEqual({ kind: "handed", kubeconfig: "/k" });
  expect(chooseCluster({ ...everything, handedKubeconfig: "" })).toEqual({ kind: "kind" });
  expect(chooseCluster({ ...everything, handedKubeconfig: undefined, kindWorks: () => false })).toEqual({
    kind: "binaries",
    folder: "/a",
  });
  expect(
    chooseCluster({ handedKubeconfig: undefined, kindWorks: () => false, assetsFolder: "/a", hasServers: () => false }),
  ).toEqual({ kind: "built" });
  expect(
    chooseCluster({
      handedKubeconfig: undefined,
      kindWorks: () => false,
      assetsFolder: undefined,
      hasServers: () => true,
    }),
  ).toEqual({ kind: "built" });
});

test("kind is not asked for when a cluster was handed over", () => {
  const kindWorks = () => {
    throw new Error("asked");
  };
  expect(chooseCluster({ ...everything, kindWorks }).kind).toBe("handed");
});
