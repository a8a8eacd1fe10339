import { Ajv2020 } from "ajv/dist/2020.js";
import type { ErrorObject, ValidateFunction } from "ajv/dist/core.js";
import addFormats from "ajv-formats";
import { digestJson } from "../base/digest.ts";
import type { Fault } from "../base/errors.ts";
import type { Json } from "../base/exact-json.ts";
import { compileSafePattern } from "./safe-pattern.ts";
import { schemaForm } from "./schema-form.ts";
import { asDoubles, type FormSchema } from "./schema-value.ts";
import { readableFaults } from "./validation-faults.ts";

/**
 * Checks a value against one schema and lists all faults with their JSON paths (`$.labels[0]`), none when it fits.
 * Defaults are never applied, nothing is converted, and the value stays as it is (semantics 2.2, 4.1). Bigints are integers;
 * bounds, enums and uniqueness compare them as the nearest doubles. What a schema says of a property named `__proto__` is not
 * enforced. Values stand in no message: they may be secrets.
 */
export type Validator = (value: Json) => readonly Fault[];

/** What a schema is for: a tool's arguments (whose root is an object if it says nothing) or any other value. */
export type SchemaUse = "input" | "value";

/** Validators kept, about 100 KiB of compiled code each at worst: a busy dispatcher's tools fit. */
const VALIDATORS_MAX = 512;

/** Least recently used first. Shared by all callers of the process, as a validator depends on its schema alone. */
const validators = new Map<string, Validator>();

/**
 * The validator of a schema in any dialect, from a cache by the schema's digest.
 * A schema that cannot be used gives a validator whose faults say so for every value: it is refused when it is pinned.
 */
export function compileValidator(schema: Json, use: SchemaUse = "value"): Validator {
  const key = `${use} ${digestJson(schema)}`;
  const validator = validators.get(key) ?? makeValidator(schema, use);
  validators.delete(key);
  validators.set(key, validator);
  for (const [oldest] of validators) {
    if (validators.size <= VALIDATORS_MAX) break;
    validators.delete(oldest);
  }
  return validator;
}

function makeValidator(schema: Json, use: SchemaUse): Validator {
  const form = schemaForm(schema, { root: use === "input" ? "object" : "any" });
  if (form.faults.length > 0)
    return () => form.faults.map(({ message }) => ({ path: "$", message: `schema: ${message}` }));
  const validate = compile(form.schema);
  return (value) => {
    try {
      const projected = asDoubles(value);
      return validate(projected) ? [] : readableFaults((validate.errors ?? []) as ErrorObject[], projected);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      return [{ path: "$", message: "is nested too deeply to be checked" }];
    }
  };
}

/** An instance for one schema only: a shared one keeps every schema it ever saw. */
function compile(schema: FormSchema): ValidateFunction {
  const ajv = new Ajv2020({
    allErrors: true,
    strict: false,
    meta: false,
    validateSchema: false,
    logger: false,
    inlineRefs: false,
    code: { regExp: linearRegExp },
  });
  addFormats.default(ajv);
  return ajv.compile(schema as object);
}

/**
 * Patterns run in linear time. One that no safe engine takes fits everything: it is reported when the tool is pinned.
 * The validator tells compiled patterns apart by their text, so without `toString` all of a schema would be the first one.
 */
function linearRegExp(pattern: string): { test(text: string): boolean; toString(): string } {
  const compiled = compileSafePattern(pattern);
  return { test: (text) => compiled?.test(text) ?? true, toString: () => pattern };
}
/** The validator only asks for this to write stand-alone code, which is never done here. */
linearRegExp.code = "linearRegExp";
