import { z } from "zod";
import { duration, integer, list, map, objectName, oneOf, optional, text } from "./fields.ts";

const LABEL_KEY = "^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$";
const LABEL_KEY_MESSAGE =
  "write a label's name: letters, digits, -, _ and ., with an optional prefix such as example.com/";

function labelMap(description: string) {
  const value = z
    .string()
    .max(63)
    .regex(/^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$/, {
      error: "write a label's value: letters, digits, -, _ and .",
    })
    .describe("The label's value.");
  return map(description, value, 32, LABEL_KEY, LABEL_KEY_MESSAGE);
}

function quantities(description: string) {
  const quantity = z
    .union([z.int().min(0), z.string().max(32)])
    .meta({
      description: "A quantity, such as 500m or 128Mi.",
      pattern: "^[0-9]+([.][0-9]+)?(m|k|Ki|M|Mi|G|Gi|T|Ti)?$",
      "x-kubernetes-int-or-string": true,
    })
    .refine((value) => /^[0-9]+([.][0-9]+)?(m|k|Ki|M|Mi|G|Gi|T|Ti)?$/.test(String(value)), {
      error: "write a quantity, such as 500m or 128Mi",
    });
  return map(description, quantity, 8, "^[a-z0-9][-a-z0-9./]*$", "write a resource's name, such as cpu or memory");
}

const toleration = z
  .strictObject({
    key: optional(text("The taint's key; absent with Exists: all keys.", 316)),
    operator: optional(oneOf("How the value is compared. Equal unless set.", ["Equal", "Exists"])),
    value: optional(text("The taint's value.", 63, 0)),
    effect: optional(
      oneOf("The taint's effect; absent: all effects.", ["NoSchedule", "PreferNoSchedule", "NoExecute"]),
    ),
    tolerationSeconds: optional(integer("With NoExecute: how long it is tolerated, in seconds.", 0, 2 ** 31)),
  })
  .describe("One taint that is tolerated.");

/** How the dispatcher of a Toolset runs. No part of the pin. */
export const dispatcherSchema = z
  .strictObject({
    maxReplicas: optional(integer("Most pods of this Toolset's dispatcher. 5 unless set.", 1, 100)),
    runsPerReplica: optional(integer("Runs that one pod works on at once. 200 unless set.", 1, 10_000)),
    idleAfter: optional(duration("Scaled to zero after this time without work. 60s unless set.")),
    resources: optional(
      z
        .strictObject({
          requests: optional(quantities("What a pod asks for.")),
          limits: optional(quantities("What a pod may use.")),
        })
        .describe("Resources of a dispatcher pod."),
    ),
    serviceAccountName: optional(
      objectName("Service account of the pods. Whoever names one needs create on its serviceaccounts/token."),
    ),
    nodeSelector: optional(labelMap("Labels of the nodes it may run on.")),
    tolerations: optional(list("Taints that the pods tolerate.", toleration, 16)),
    podLabels: optional(labelMap("Further labels of the pods, for network policies.")),
  })
  .describe("How the dispatcher of this Toolset runs. No part of the pin.");
