/**
 * What a terminal, a browser or an eye would not show as it is: controls, format and direction characters (among them
 * zero-width ones, tags and the byte order mark), separators other than the plain space, lone surrogates, letters
 * without ink (Hangul fillers, the empty Braille cell), and the variation selectors that can smuggle text.
 */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\u115f\u1160\u2800\u3164\uffa0]|[\u{e0100}-\u{e01ef}]|(?! )\p{Zs}/gu;

const SHORT: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/**
 * The text with every character that could mislead a reader as a visible escape: `\n`, `\r`, `\t`, else `\u` and four digits, one a
 * UTF-16 code unit, so that escaped JSON text is still JSON of the same value (semantics 2.4). One line stays one line.
 * A digest is never over this text but over the raw one.
 */
export function visibleText(text: string): string {
  return text.replace(UNSEEN, escapeUnseen);
}

/** As `visibleText`, for text of several lines: line feeds and tabs stay as they are, all else is escaped. */
export function visibleLines(text: string): string {
  return text.replace(UNSEEN, (found) => (found === "\n" || found === "\t" ? found : escapeUnseen(found)));
}

function escapeUnseen(found: string): string {
  const short = SHORT[found];
  if (short !== undefined) return short;
  let escaped = "";
  for (let index = 0; index < found.length; index += 1)
    escaped += `\\u${found.charCodeAt(index).toString(16).padStart(4, "0")}`;
  return escaped;
}
