import type { z } from "zod";

/**
 * One rule of admission, written twice side by side: as CEL for the API server and as a function for `parseManifest`.
 * A test sends the same refused manifests through both. A rule without `check` compares with the old object, which a
 * manifest on disk does not have.
 */
export interface Rule<Value> {
  /** True when the value is fine. `self` is the value the rule stands on. */
  readonly cel: string;
  /** What to do, for a person. */
  readonly message: string;
  /** The same as `cel`. Not called for values whose shape is wrong already. */
  readonly check?: (self: Value) => boolean;
  /** The member of `self` that the fault is about; the value itself when absent. */
  readonly field?: string;
  /** True when `oldSelf` may be absent: CEL then sees it as an optional value. */
  readonly optionalOldSelf?: boolean;
}

/** A rule as the CRD carries it, under `x-kubernetes-validations`. */
export interface CelValidation {
  readonly rule: string;
  readonly message: string;
  readonly fieldPath?: string;
  readonly optionalOldSelf?: boolean;
}

const VALIDATIONS = "x-kubernetes-validations";

/** The rules of a resource's root in the form that the CRD carries. */
export function celValidations<Value>(rules: readonly Rule<Value>[]): CelValidation[] {
  return rules.map((rule) => ({
    rule: rule.cel,
    message: rule.message,
    ...(rule.field === undefined ? {} : { fieldPath: `.${rule.field}` }),
    ...(rule.optionalOldSelf === undefined ? {} : { optionalOldSelf: rule.optionalOldSelf }),
  }));
}

/** The schema with the rules on it, in both forms; rules of an earlier call stay. Give descriptions before. */
export function withRules<Schema extends z.ZodType>(schema: Schema, rules: readonly Rule<z.output<Schema>>[]): Schema {
  let checked: z.ZodType = schema;
  for (const { check, message, field } of rules) {
    if (check === undefined) continue;
    checked = checked.refine((value) => holds(check, value as z.output<Schema>), {
      error: message,
      path: field === undefined ? [] : [field],
      // Also beside other faults of the same value, so that all are listed at once.
      when: shapeIsRight,
    });
  }
  const meta = schema.meta() ?? {};
  const earlier = (meta[VALIDATIONS] as CelValidation[] | undefined) ?? [];
  return checked.meta({ ...meta, [VALIDATIONS]: [...earlier, ...celValidations(rules)] }) as Schema;
}

/**
 * For zod's `when`: true unless the value itself has the wrong shape. Faults of its members do not matter, so that all
 * are listed at once.
 */
export function shapeIsRight(payload: z.core.ParsePayload): boolean {
  return !payload.issues.some(({ path, code }) => (path ?? []).length === 0 && code === "invalid_type");
}

/** False only when the rule is broken: a value of the wrong shape has a fault of its own already. */
function holds<Value>(check: (self: Value) => boolean, value: Value): boolean {
  try {
    return check(value);
  } catch (error) {
    if (error instanceof TypeError) return true;
    throw error;
  }
}

/** A text as a CEL string literal. */
export function celString(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}

/** Texts as a CEL list literal. */
export function celList(texts: readonly string[]): string {
  return `[${texts.map(celString).join(", ")}]`;
}

/**
 * A rule that a text matches (or, `negate`, does not match) a pattern, for the RE2 of CEL and for JavaScript alike.
 * @param pattern only syntax that both engines read in the same way
 */
export function matching(
  pattern: string,
  message: string,
  options: { ignoreCase?: boolean; negate?: boolean } = {},
): Rule<string> {
  const expression = new RegExp(pattern, options.ignoreCase ? "iu" : "u");
  const cel = `self.matches(${celString(options.ignoreCase ? `(?i)${pattern}` : pattern)})`;
  return {
    cel: options.negate ? `!${cel}` : cel,
    message,
    check: (self) => expression.test(self) !== (options.negate ?? false),
  };
}
