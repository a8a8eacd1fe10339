import { type Json, type JsonObject, parseExact, stringifyExact } from "../base/exact-json.ts";
import type { RawToolResult } from "./port.ts";

/** What a tool's answer is for the script, or why it is a failure (semantics 4.6). Texts are exact JSON. */
export type ResultValue =
  | { readonly kind: "value"; readonly valueText: string }
  | { readonly kind: "toolFailed"; readonly message: string; readonly detailsText: string }
  | { readonly kind: "tooLarge"; readonly bytes: number };

const MESSAGE_CHARACTERS_MAX = 16_384;

/**
 * The value that a script gets: the structured content if there is any; else, for a single text block, its parsed JSON when
 * that is an object or array, else the text; else the content blocks.
 * @param unwrap whether the pinned output schema says that the value is wrapped as `{result: …}`
 */
export function resultValue(result: RawToolResult, limits: { resultBytes: number }, unwrap: boolean): ResultValue {
  if (result.isError) return failure(result);
  const valueText = unwrap ? unwrapped(successText(result)) : successText(result);
  const bytes = Buffer.byteLength(valueText, "utf8");
  return bytes > limits.resultBytes ? { kind: "tooLarge", bytes } : { kind: "value", valueText };
}

function successText(result: RawToolResult): string {
  if (result.structuredText !== undefined) return result.structuredText;
  const text = singleText(result.contentText);
  if (text === undefined) return result.contentText;
  return jsonContainer(text) ?? JSON.stringify(text);
}

/** The text of the only block, if there is one block and it is text. */
function singleText(contentText: string): string | undefined {
  const blocks = parseExact(contentText);
  if (!Array.isArray(blocks) || blocks.length !== 1) return undefined;
  const block = blocks[0] as JsonObject | undefined;
  return block?.["type"] === "text" && typeof block["text"] === "string" ? block["text"] : undefined;
}

/** The text again, written as plain JSON, when it holds a JSON object or array. */
function jsonContainer(text: string): string | undefined {
  if (!/^\s*[[{]/.test(text)) return undefined;
  try {
    return stringifyExact(parseExact(text));
  } catch {
    return undefined;
  }
}

function unwrapped(valueText: string): string {
  const value = parseExact(valueText);
  const holder = value !== null && typeof value === "object" && !Array.isArray(value) ? value : undefined;
  return holder && Object.hasOwn(holder, "result") ? stringifyExact(holder["result"] as Json) : valueText;
}

/** An error result: its text is the message, else its structured content; the output schema does not apply to it. */
function failure(result: RawToolResult): ResultValue {
  const blocks = parseExact(result.contentText);
  const texts = Array.isArray(blocks)
    ? blocks.flatMap((block) => {
        const text = (block as JsonObject | null)?.["text"];
        return typeof text === "string" ? [text] : [];
      })
    : [];
  const message =
    texts.length > 0 ? texts.join("\n") : (result.structuredText ?? "the tool reported an error without a text");
  const structured = result.structuredText === undefined ? "" : `,"structuredContent":${result.structuredText}`;
  return {
    kind: "toolFailed",
    message: message.slice(0, MESSAGE_CHARACTERS_MAX),
    detailsText: `{"content":${result.contentText}${structured}}`,
  };
}
