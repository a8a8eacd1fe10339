import type { Pin, PinnedTool } from "../toolset/pin.ts";
import { memberAccess, memberName, oneLine } from "./escape.ts";
import { type DeclarationStyle, PromptTypes, printComment, printType } from "./print-type.ts";
import { rewindModule, rewindPrompt } from "./rewind-module.ts";
import { type SchemaTypes, type ToolTypes, toolTypes } from "./tool-types.ts";
import { TypeNames } from "./type-names.ts";
import { UNKNOWN } from "./type-node.ts";

/** The two renderings of what scripts of a pin may call (semantics 2.1). */
export interface Declarations {
  /** `rewind-tools.d.ts`: modules "rewind:tools" and "rewind", for the type-checker. */
  readonly declarationText: string;
  /** One line a tool, for a model's prompt. */
  readonly promptText: string;
}

/** Characters of a description that are kept. */
const DECLARATION_WORDS_MAX = 2_000;
const PROMPT_WORDS_MAX = 200;
/** Largest declarations with words: a ConfigMap holds 1 MiB, and the prompt text stands in it too. */
const DECLARATION_LENGTH_MAX = 700 * 1024;

/** What was rendered before: many runs ask for the declarations of one pin, which never changes. */
const rendered = new WeakMap<Pin, Declarations>();

/**
 * Renders a pin's declarations. Pure: the same pin always gives the same texts. Where they would be too large for a
 * ConfigMap the words are left out first.
 */
export function renderDeclarations(pin: Pin): Declarations {
  const declarations = rendered.get(pin) ?? render(pin);
  rendered.set(pin, declarations);
  return declarations;
}

function render(pin: Pin): Declarations {
  const tools = pin.content.tools.map((tool) => ({ tool, types: toolTypes(tool) }));
  const groups = Map.groupBy(tools, ({ tool }) => tool.group);
  const withWords = declarationText(groups, DECLARATION_WORDS_MAX);
  const fits = withWords.length <= DECLARATION_LENGTH_MAX;
  return {
    declarationText: fits ? withWords : declarationText(groups, 0),
    promptText: promptText(groups, fits ? PROMPT_WORDS_MAX : 0),
  };
}

interface TypedTool {
  readonly tool: PinnedTool;
  readonly types: ToolTypes;
}
type Groups = ReadonlyMap<string, readonly TypedTool[]>;

function declarationText(groups: Groups, wordsMax: number): string {
  const names = new TypeNames();
  const lines: string[] = [];
  for (const [group, tools] of groups) {
    const members: string[] = [];
    for (const typed of tools) {
      const { namedTypes, member } = toolDeclaration(typed, names, wordsMax);
      lines.push(...namedTypes);
      members.push(...member);
    }
    lines.push(`  /** Tools of the MCP server \`${group}\`. */`, `  export const ${group}: {`, ...members, "  };");
  }
  return `declare module "rewind:tools" {\n${[...lines, "  export {};"].join("\n")}\n}\n\n${rewindModule}`;
}

function toolDeclaration(typed: TypedTool, names: TypeNames, wordsMax: number) {
  const { tool, types } = typed;
  const style = (part: "Args" | "Result"): DeclarationStyle => ({
    nameOf: (reference) => names.of(tool, part, reference),
    wordsMax,
  });
  const taken = printType(types.arguments.root, style("Args"), "    ");
  const given = printType(types.result.root, style("Result"), "    ");
  const signature = `args${types.argumentsOptional ? "?" : ""}: ${taken}`;
  return {
    namedTypes: [...namedTypes(types.arguments, style("Args")), ...namedTypes(types.result, style("Result"))],
    member: [
      ...printComment([tool.description ?? tool.title ?? ""], wordsMax, "    "),
      `    ${memberName(tool.name)}(${signature}): Promise<${given}>;`,
    ],
  };
}

function namedTypes(types: SchemaTypes, style: DeclarationStyle): string[] {
  return [...types.named].map(([name, node]) => `  type ${style.nameOf(name)} = ${printType(node, style, "  ")};`);
}

function promptText(groups: Groups, wordsMax: number): string {
  const imports = groups.size > 0 ? [`import { ${[...groups.keys()].join(", ")} } from "rewind:tools";`] : [];
  const lines = [...groups.values()].flat().map((typed) => promptLine(typed, wordsMax));
  return `${[...imports, ...lines, ...rewindPrompt].join("\n")}\n`;
}

function promptLine({ tool, types }: TypedTool, wordsMax: number): string {
  const taken = promptType(types.arguments);
  const takesNone = types.argumentsOptional && taken === "{ [key: string]: never }";
  const words = oneLine(tool.description ?? tool.title ?? "", wordsMax);
  const access = oneLine(memberAccess(tool.group, tool.name), 500);
  const call = `${access}(${takesNone ? "" : taken}) → ${promptType(types.result)}`;
  return words === "" || wordsMax === 0 ? call : `${call} · ${words}`;
}

function promptType(types: SchemaTypes): string {
  return new PromptTypes((name) => types.named.get(name) ?? UNKNOWN).print(types.root);
}
