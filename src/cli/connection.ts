import { type Command, Option } from "commander";
import { type KubeApi, openKubeApi } from "./kube-api.ts";

/** The flags that every kubectl command knows, as commander gives them. */
export interface ConnectionFlags {
  readonly namespace?: string;
  readonly context?: string;
  readonly kubeconfig?: string;
  readonly as?: string;
  readonly asGroup?: string[];
  readonly output?: "json";
}

/** Adds kubectl's own flags to a command. */
export function withConnectionFlags(command: Command): Command {
  return command
    .option("-n, --namespace <name>", "the namespace; that of the kubeconfig's context unless set")
    .option("--context <name>", "the kubeconfig's context")
    .option("--kubeconfig <file>", "the kubeconfig")
    .option("--as <user>", "act as this user")
    .option(
      "--as-group <group>",
      "act as a member of this group; may be repeated",
      (group: string, all: string[] = []) => [...all, group],
    )
    .addOption(new Option("-o, --output <format>", "json: the outcome as JSON on standard output").choices(["json"]));
}

/** @throws KubeApiError */
export function connect(flags: ConnectionFlags): KubeApi {
  const { namespace, context, kubeconfig, as, asGroup } = flags;
  return openKubeApi({
    ...(namespace === undefined ? {} : { namespace }),
    ...(context === undefined ? {} : { context }),
    ...(kubeconfig === undefined ? {} : { kubeconfig }),
    ...(as === undefined ? {} : { as }),
    ...(asGroup === undefined ? {} : { asGroup }),
  });
}
