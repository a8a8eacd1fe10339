import { z } from "zod";

type JsonSchema = Record<string, unknown>;

/**
 * A zod schema as a structural schema of a CRD: OpenAPI 3.0, without what the API server does not take there.
 * @throws Error for what has no structural form (recursion, unions other than a number or a text)
 */
export function structuralSchema(schema: z.ZodType): JsonSchema {
  const generated = z.toJSONSchema(schema, { target: "openapi-3.0", io: "input", reused: "inline", cycles: "throw" });
  return structural(generated as JsonSchema, "");
}

function structural(schema: JsonSchema, path: string): JsonSchema {
  const { $schema: _, properties, items, additionalProperties, anyOf, ...rest } = schema;
  for (const keyword of ["$ref", "oneOf", "allOf", "not", "definitions"]) {
    if (keyword in rest) throw new Error(`${path}: ${keyword} has no structural form`);
  }
  if (anyOf !== undefined && rest["x-kubernetes-int-or-string"] !== true) {
    throw new Error(`${path}: a union has no structural form: give one optional field per variant`);
  }
  const result: JsonSchema = { ...rest, ...integerFormat(rest) };
  if (rest["x-kubernetes-preserve-unknown-fields"] === true) return result;
  if (properties !== undefined) {
    const members = Object.entries(properties as Record<string, JsonSchema>);
    result["properties"] = Object.fromEntries(
      members.map(([name, member]) => [name, structural(member, `${path}.${name}`)]),
    );
  }
  if (items !== undefined) result["items"] = structural(items as JsonSchema, `${path}[]`);
  // `false` says that the object is closed, which every structural schema is: unknown fields are pruned or refused.
  if (typeof additionalProperties === "object") {
    result["additionalProperties"] = structural(additionalProperties as JsonSchema, `${path}.*`);
  }
  if (typeof result["description"] !== "string") throw new Error(`${path}: every field has a description`);
  return result;
}

/** Whole numbers say how wide they are, and the bounds of a double are no news. */
function integerFormat({ type, minimum, maximum }: JsonSchema): JsonSchema {
  if (type !== "integer") return {};
  return {
    format: "int64",
    ...(minimum === Number.MIN_SAFE_INTEGER ? { minimum: undefined } : {}),
    ...(maximum === Number.MAX_SAFE_INTEGER ? { maximum: undefined } : {}),
  };
}
