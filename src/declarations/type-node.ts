/** A TypeScript type before it is printed: in declarations over many lines with comments, in a prompt on one. */
export type TypeNode =
  | { readonly kind: "plain"; readonly text: string }
  /** A named type of the same schema: `$defs` name, or `""` for the schema itself. */
  | { readonly kind: "reference"; readonly name: string }
  | { readonly kind: "array"; readonly item: TypeNode }
  | { readonly kind: "tuple"; readonly items: readonly TupleItem[]; readonly rest?: TypeNode }
  | { readonly kind: "object"; readonly members: readonly Member[]; readonly index?: TypeNode }
  | { readonly kind: "union"; readonly of: readonly TypeNode[] }
  | { readonly kind: "intersection"; readonly of: readonly TypeNode[] };

export interface TupleItem {
  readonly type: TypeNode;
  readonly optional: boolean;
}

export interface Member {
  readonly name: string;
  readonly optional: boolean;
  readonly type: TypeNode;
  /** What the comment above it says, one text each. */
  readonly notes: readonly string[];
}

export const UNKNOWN: TypeNode = { kind: "plain", text: "unknown" };
export const NEVER: TypeNode = { kind: "plain", text: "never" };

/** A type that is written as it stands: a primitive or a literal. */
export function plain(text: string): TypeNode {
  return { kind: "plain", text };
}

export function isUnknown(node: TypeNode): boolean {
  return node.kind === "plain" && node.text === "unknown";
}

export function isNever(node: TypeNode): boolean {
  return node.kind === "plain" && node.text === "never";
}

/** A union without repetitions; `unknown` takes in everything, `never` adds nothing. */
export function union(types: readonly TypeNode[]): TypeNode {
  const flat = distinct(types.flatMap((type) => (type.kind === "union" ? type.of : [type])));
  if (flat.some(isUnknown)) return UNKNOWN;
  const kept = flat.filter((type) => !isNever(type));
  return only(kept) ?? (kept.length === 0 ? NEVER : { kind: "union", of: kept });
}

/** An intersection without repetitions; `unknown` demands nothing, `never` leaves nothing. */
export function intersection(types: readonly TypeNode[]): TypeNode {
  const flat = distinct(types.flatMap((type) => (type.kind === "intersection" ? type.of : [type])));
  if (flat.some(isNever)) return NEVER;
  const kept = flat.filter((type) => !isUnknown(type));
  return only(kept) ?? (kept.length === 0 ? UNKNOWN : { kind: "intersection", of: kept });
}

function only(types: readonly TypeNode[]): TypeNode | undefined {
  return types.length === 1 ? types[0] : undefined;
}

function distinct(types: readonly TypeNode[]): TypeNode[] {
  const seen = new Set<string>();
  return types.filter((type) => {
    const key = JSON.stringify(type);
    if (seen.has(key)) return false;
    seen.add(key);
    return true;
  });
}
