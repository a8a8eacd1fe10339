import { z } from "zod";
import { DURATION_PATTERN, parseDurationMs } from "../base/duration.ts";
import type { Json, JsonObject } from "../base/exact-json.ts";
import { matching, type Rule, shapeIsRight, withRules } from "./rules.ts";

/** A text of 1 (or `min`) to `max` characters. */
export function text(description: string, max: number, min = 1): z.ZodString {
  return z.string().min(min).max(max).describe(description);
}

/** A whole number from `min` to `max`. */
export function integer(description: string, min: number, max = Number.MAX_SAFE_INTEGER): z.ZodInt {
  return z.int().min(min).max(max).describe(description);
}

export function flag(description: string): z.ZodBoolean {
  return z.boolean().describe(description);
}

/** One of a few words. */
export function oneOf<const Words extends readonly string[]>(description: string, words: Words) {
  return z.enum(words).describe(description);
}

/** A list that one writer owns as a whole. */
export function list<Item extends z.ZodType>(description: string, item: Item, max: number, min = 0) {
  return z.array(item).min(min).max(max).meta({ description, "x-kubernetes-list-type": "atomic" });
}

/** A list whose entries are told apart by some of their members, as the API server does: unique, and merged by them. */
export function listByKey<Item extends z.ZodType<Record<string, unknown>>>(
  description: string,
  item: Item,
  keys: readonly (keyof z.output<Item> & string)[],
  max: number,
) {
  return z
    .array(item)
    .max(max)
    .superRefine(
      (entries, context) => {
        const seen = new Set<string>();
        for (const [index, entry] of entries.entries()) {
          const key = JSON.stringify(keys.map((name) => entry?.[name]));
          if (seen.has(key)) context.addIssue({ code: "custom", path: [index], message: duplicate(entry, keys) });
          seen.add(key);
        }
      },
      { when: shapeIsRight },
    )
    .meta({ description, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": [...keys] });
}

function duplicate(entry: Record<string, unknown>, keys: readonly string[]): string {
  return `Duplicate value: ${keys.map((key) => `${key} "${String(entry[key])}"`).join(", ")} is there already`;
}

/**
 * A map from texts to values.
 * @param keyPattern what every key matches; `keyMessage` says it for people
 */
export function map<Value extends z.ZodType>(
  description: string,
  value: Value,
  max: number,
  keyPattern: string,
  keyMessage: string,
) {
  const keys = new RegExp(keyPattern, "u");
  const schema = z
    .record(z.string(), value)
    .refine((entries) => Object.keys(entries).length <= max, {
      error: `Too many: at most ${max} entries`,
      when: shapeIsRight,
    })
    .meta({ description, maxProperties: max });
  return withRules(schema, [
    {
      cel: `self.all(key, key.matches('${keyPattern.replaceAll("\\", "\\\\")}'))`,
      message: keyMessage,
      check: (self) => Object.keys(self).every((key) => keys.test(key)),
    },
  ]);
}

/** Any JSON value, null too, kept as it is: the API server does not look inside, so CEL cannot either. */
export function anyJson(description: string): z.ZodType<Json> {
  return z.unknown().meta({ description, [PRESERVE]: true, nullable: true }) as unknown as z.ZodType<Json>;
}

/** Any JSON object, kept as it is. */
export function anyObject(description: string): z.ZodType<JsonObject> {
  return z.record(z.string(), z.unknown()).meta({ description, [PRESERVE]: true }) as unknown as z.ZodType<JsonObject>;
}

const PRESERVE = "x-kubernetes-preserve-unknown-fields";
const DURATION_TOO_LONG = "[0-9]{5,}d|[0-9]{6,}h|[0-9]{8,}m($|[0-9])|[0-9]{10,}(s|ms)";

/**
 * A duration text such as `90s` or `1h30m`. With 16 characters and the digits bounded by unit it stays below a hundred
 * years, so `parseDurationMs` takes all that admission lets through.
 */
export function duration(description: string, options: { zero?: string } = {}) {
  const rules: Rule<string>[] = [
    matching(DURATION_PATTERN, "write a duration such as 90s, 1h30m, 500ms or 40d"),
    matching(DURATION_TOO_LONG, "this duration is too long: at most 9999d, 99999h, 9999999m or 999999999s", {
      negate: true,
    }),
  ];
  if (options.zero === undefined) {
    rules.push(matching("[1-9]", "this duration must be longer than zero; leave the field out for its default"));
  }
  return withRules(text(description, 16), rules);
}

/** A point in time as RFC 3339 writes it. */
export function time(description: string) {
  return z
    .string()
    .max(64)
    .regex(/^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(\.\d+)?([Zz]|[+-]\d{2}:\d{2})$/, {
      error: "write a time such as 2026-05-01T12:00:00Z",
    })
    .refine((value) => !Number.isNaN(Date.parse(value)), { error: "this date does not exist" })
    .meta({ description, format: "date-time" });
}

/** Milliseconds of a duration field; undefined when the field is absent. */
export function optionalDurationMs(value: string | undefined): number | undefined {
  return value === undefined ? undefined : parseDurationMs(value);
}

/** What a digest looks like: `sha256:` and 64 hexadecimal digits. */
export const DIGEST_PATTERN = "^sha256:[0-9a-f]{64}$";

export function digest(description: string) {
  return withRules(text(description, 71), [
    matching(DIGEST_PATTERN, "write a digest: sha256: and 64 hexadecimal digits"),
  ]);
}

/** What the name of a Kubernetes object looks like (DNS-1123 subdomain). */
export const OBJECT_NAME_PATTERN = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$";
/** A DNS-1123 label: what is used in label values and names of other objects. */
export const LABEL_NAME_PATTERN = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$";

export function objectName(description: string) {
  return withRules(text(description, 253), [
    matching(OBJECT_NAME_PATTERN, "write an object's name: lower-case letters, digits, - and ., as in metadata.name"),
  ]);
}

/** The name of a Toolset: also used in labels and in the names of other objects, so at most 63 characters and no dots. */
export function toolsetName(description: string) {
  return withRules(text(description, 63), [
    matching(LABEL_NAME_PATTERN, "write a Toolset's name: lower-case letters, digits and -, at most 63 characters"),
  ]);
}

/** A key of a Secret or ConfigMap. */
function dataKey(description: string) {
  return withRules(text(description, 253), [
    matching("^[-._a-zA-Z0-9]+$", "write a key of its data: letters, digits, -, _ and ."),
  ]);
}

/** One key of a Secret in the object's own namespace. */
export function secretKeyRef(description: string) {
  return z
    .strictObject({
      name: objectName("Name of the Secret, in the same namespace."),
      key: dataKey("The key of its data."),
    })
    .describe(description);
}

/** A script kept in a ConfigMap. */
export function scriptFrom(description: string) {
  return z
    .strictObject({
      configMap: z
        .strictObject({
          name: objectName("Name of the ConfigMap, in the same namespace."),
          key: dataKey("The key of its data."),
        })
        .describe("The ConfigMap that holds the script."),
    })
    .describe(description);
}

/** Longest script, in characters (semantics 3.5 counts bytes; the check before the run does too). */
export const SCRIPT_LENGTH_MAX = 256 * 1024;

/** Marks a field as optional: absent, never undefined or null. */
export function optional<Schema extends z.ZodType>(schema: Schema) {
  return schema.exactOptional();
}
