import { z } from "zod";
import { conditionsField, MESSAGE_LENGTH_MAX } from "./conditions.ts";
import { anyJson, digest, flag, integer, list, oneOf, optional, text, time } from "./fields.ts";
import { effectivePolicySchema } from "./toolset-policy.ts";

const server = z
  .strictObject({
    name: text("The group of its tools.", 63),
    protocol: optional(text("The version of MCP that was agreed on.", 32)),
    serverInfo: optional(
      z
        .strictObject({ name: text("Its name.", 256, 0), version: text("Its version.", 256, 0) })
        .describe("What the server calls itself. No part of the pin."),
    ),
    tools: optional(integer("How many of its tools are pinned.", 0)),
    reachable: optional(flag("Whether it answered when it was last asked.")),
    lastSeen: optional(time("When it last answered.")),
  })
  .describe("One server.");

const tool = z
  .strictObject({
    name: text("The tool's name with its group.", 256),
    digest: optional(digest("The tool's contract digest: its schemas without words, and its tags.")),
    inputSchema: optional(anyJson("JSON Schema of the arguments, while the status has room for it.")),
    outputSchema: optional(anyJson("JSON Schema of the result, while the status has room for it.")),
    retention: optional(oneOf("What history keeps of its calls.", ["Ephemeral", "Durable", "Outward"])),
    policy: optional(effectivePolicySchema),
    warnings: optional(
      list("What to know of this tool, such as a pattern that is not enforced.", text("A warning.", 1_024), 16),
    ),
  })
  .describe("One pinned tool.");

const refused = z
  .strictObject({
    tool: text("The tool's name with its group.", 256),
    reason: oneOf("Why.", ["SchemaUnsupported"]),
    message: text("Why, for people.", MESSAGE_LENGTH_MAX, 0),
  })
  .describe("One tool that is left out.");

const drift = z
  .strictObject({
    tool: text("The tool's name with its group.", 256),
    change: oneOf("What the server did to it since the pin. WordsChanged parks nothing.", [
      "Changed",
      "Removed",
      "Added",
      "WordsChanged",
    ]),
    since: time("When it was first noticed."),
    summary: text("What differs.", 2_048, 0),
  })
  .describe("One tool that differs from the pin.");

export const toolsetStatusSchema = z
  .strictObject({
    observedGeneration: optional(integer("The generation of the spec that this status is about.", 0)),
    digest: optional(digest("The pin's digest: the Toolset's id.")),
    shortDigest: optional(text("The first 12 hexadecimal digits of the pin's digest, for the column.", 12)),
    pinnedAt: optional(time("When the pin was made.")),
    servers: optional(list("The servers, in the order of spec.", server, 32)),
    refused: optional(list("Tools that are left out alone; the rest is pinned.", refused, 256)),
    tools: optional(list("The pinned tools.", tool, 10_000)),
    toolCount: optional(integer("How many tools are pinned.", 0)),
    toolsOmitted: optional(integer("How many pinned tools are not listed here, to keep the status small.", 0)),
    limits: optional(
      z
        .strictObject({
          concurrency: optional(integer("Calls in flight, per run.", 0)),
          resultBytes: optional(integer("Largest result of one call, in bytes.", 0)),
          sandbox: optional(
            z
              .strictObject({
                memory: optional(text("Memory of one run's sandbox.", 16)),
                cpu: optional(text("CPU time between two results.", 16)),
                calls: optional(integer("Calls of one run in all.", 0)),
              })
              .describe("Limits of the script itself."),
          ),
        })
        .describe("The limits in force."),
    ),
    declarations: optional(
      z
        .strictObject({
          configMap: text("The ConfigMap that holds rewind-tools.d.ts and the prompt text.", 253),
          configMaps: optional(list("All of them, when one is too small.", text("A ConfigMap's name.", 253), 64)),
        })
        .describe("Where the declarations are."),
    ),
    drift: optional(list("Tools that differ from the pin.", drift, 256)),
    runs: optional(integer("How many runs are unfinished.", 0)),
    conditions: conditionsField(),
  })
  .describe("What holds now. Written by the controller only.");

export type ToolsetStatus = z.output<typeof toolsetStatusSchema>;
