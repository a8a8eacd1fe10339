import { commentLines, memberName, oneLine } from "./escape.ts";
import type { Member, TypeNode } from "./type-node.ts";

/** How types are written in declarations. */
export interface DeclarationStyle {
  /** The name of the type that a reference means. */
  nameOf(reference: string): string;
  /** Characters of a schema's text that a comment keeps; 0 leaves comments out. */
  readonly wordsMax: number;
}

const INDENT = "  ";

/** A type over as many lines as it needs, with comments. @param indent of the line it starts on */
export function printType(node: TypeNode, style: DeclarationStyle, indent: string): string {
  switch (node.kind) {
    case "plain":
      return node.text;
    case "reference":
      return style.nameOf(node.name);
    case "array":
      return `${grouped(node.item, style, indent)}[]`;
    case "tuple": {
      const items = node.items.map(({ type, optional }) => `${grouped(type, style, indent)}${optional ? "?" : ""}`);
      const rest = node.rest ? [`...${grouped(node.rest, style, indent)}[]`] : [];
      return `[${[...items, ...rest].join(", ")}]`;
    }
    case "object":
      return printObject(node, style, indent);
    case "union":
      return node.of
        .map((part) => (part.kind === "intersection" ? grouped(part, style, indent) : printType(part, style, indent)))
        .join(" | ");
    case "intersection":
      return node.of.map((part) => grouped(part, style, indent)).join(" & ");
  }
}

function grouped(node: TypeNode, style: DeclarationStyle, indent: string): string {
  const text = printType(node, style, indent);
  return node.kind === "union" || node.kind === "intersection" ? `(${text})` : text;
}

function printObject(node: TypeNode & { kind: "object" }, style: DeclarationStyle, indent: string): string {
  const index = node.index ? [`[key: string]: ${printType(node.index, style, indent + INDENT)}`] : [];
  const simple = style.wordsMax === 0 || node.members.every(({ notes }) => notes.length === 0);
  const members = node.members.map((member) => printMember(member, style, indent + INDENT));
  if (simple && !members.some((text) => text.includes("\n"))) {
    const all = [...members, ...index];
    if (all.join("; ").length <= 80) return all.length === 0 ? "{}" : `{ ${all.join("; ")} }`;
  }
  const lines = node.members.flatMap((member, at) => [
    ...printComment(member.notes, style.wordsMax, indent + INDENT),
    `${indent + INDENT}${members[at]};`,
  ]);
  return ["{", ...lines, ...index.map((text) => `${indent + INDENT}${text};`), `${indent}}`].join("\n");
}

function printMember(member: Member, style: DeclarationStyle, indent: string): string {
  return `${memberName(member.name)}${member.optional ? "?" : ""}: ${printType(member.type, style, indent)}`;
}

/** A documentation comment of these texts, in lines; none when there is nothing to say. */
export function printComment(notes: readonly string[], wordsMax: number, indent: string): string[] {
  if (wordsMax === 0) return [];
  const lines = notes.flatMap((note) => commentLines(note, wordsMax));
  const [first] = lines;
  if (first === undefined) return [];
  if (lines.length === 1) return [`${indent}/** ${first} */`];
  return [`${indent}/**`, ...lines.map((line) => `${indent} * ${line}`.trimEnd()), `${indent} */`];
}

/** Values of one union that a prompt lists, and parts of one tool's types: beyond that a line helps no model. */
const PROMPT_CHOICES_MAX = 40;
const PROMPT_PARTS_MAX = 400;

/** Parts of a type that only let the checker accept what is right anyway: a bigint for a number, what objects inherit. */
const FOR_THE_CHECKER = /^(?:bigint|Object\["\w+"\])$/;

/** Writes the types of one tool on one line each: named types are written where they are used, once inside themselves. */
export class PromptTypes {
  readonly #definition: (reference: string) => TypeNode;
  readonly #open = new Set<string>();
  #partsLeft = PROMPT_PARTS_MAX;

  constructor(definition: (reference: string) => TypeNode) {
    this.#definition = definition;
  }

  print(node: TypeNode): string {
    if (this.#partsLeft-- <= 0) return "…";
    switch (node.kind) {
      case "plain":
        return node.text;
      case "reference":
        return this.#reference(node.name);
      case "array":
        return `${this.#grouped(node.item)}[]`;
      case "tuple": {
        const items = node.items.map(({ type, optional }) => `${this.#grouped(type)}${optional ? "?" : ""}`);
        return `[${[...items, ...(node.rest ? [`...${this.#grouped(node.rest)}[]`] : [])].join(", ")}]`;
      }
      case "object":
        return this.#object(node);
      case "union": {
        const shown = node.of
          .filter((part) => part.kind !== "plain" || !FOR_THE_CHECKER.test(part.text))
          .slice(0, PROMPT_CHOICES_MAX);
        const parts = shown.map((part) => (part.kind === "intersection" ? this.#grouped(part) : this.print(part)));
        return [...parts, ...(node.of.length > PROMPT_CHOICES_MAX ? ["…"] : [])].join(" | ");
      }
      case "intersection":
        return node.of.map((part) => this.#grouped(part)).join(" & ");
    }
  }

  #grouped(node: TypeNode): string {
    const text = this.print(node);
    const isCompound = node.kind === "union" || node.kind === "intersection" || node.kind === "reference";
    return isCompound && / [|&] /.test(text) ? `(${text})` : text;
  }

  #object(node: TypeNode & { kind: "object" }): string {
    const members = node.members.map(({ name, optional, type }) => {
      return `${oneLine(memberName(name), 200)}${optional ? "?" : ""}: ${this.print(type)}`;
    });
    const all = [...members, ...(node.index ? [`[key: string]: ${this.print(node.index)}`] : [])];
    return all.length === 0 ? "{}" : `{ ${all.join(", ")} }`;
  }

  #reference(name: string): string {
    if (this.#open.has(name)) return "…";
    this.#open.add(name);
    const text = this.print(this.#definition(name));
    this.#open.delete(name);
    return text;
  }
}
