import { Ajv2020 } from "ajv/dist/2020.js";
import type { Fault } from "../base/errors.ts";
import type { FormSchema } from "./schema-value.ts";

/** Faults of one schema that are listed. */
const META_FAULTS_MAX = 10;

/** Compiled once: the meta-schema never changes, so this one instance holds nothing of any user's schema. */
let metaSchema: Ajv2020 | undefined;

/** What in a schema (in 2020-12) breaks the meta-schema: `"type": "strin"`, `"minLength": -1`. */
export function metaSchemaFaults(schema: FormSchema): Fault[] {
  metaSchema ??= new Ajv2020({ strict: false, logger: false, allErrors: true, validateFormats: false });
  if (metaSchema.validateSchema(schema) === true) return [];
  const seen = new Map<string, string>();
  for (const { instancePath, message } of metaSchema.errors ?? []) {
    if (!seen.has(instancePath)) seen.set(instancePath, message ?? "is malformed");
  }
  return [...seen].slice(0, META_FAULTS_MAX).map(([path, message]) => ({ path: `#${path}`, message }));
}
