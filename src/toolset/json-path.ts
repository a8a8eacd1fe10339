const PLAIN_KEY = /^[A-Za-z_$][\w$]*$/;
/** A key in a path is cut here: it may be as long as the document it stands in. */
const KEY_LENGTH_MAX = 100;

/** The path of a member: `$.title`, `$.labels[0]`, `$["odd key"]`. */
export function childPath(path: string, key: string | number): string {
  if (typeof key === "number") return `${path}[${key}]`;
  if (PLAIN_KEY.test(key) && key.length <= KEY_LENGTH_MAX) return `${path}.${key}`;
  return `${path}[${JSON.stringify(key.length > KEY_LENGTH_MAX ? `${key.slice(0, KEY_LENGTH_MAX)}…` : key)}]`;
}

/** The parts of a JSON pointer (RFC 6901) without its leading `#`. @returns undefined when it is no pointer. */
export function pointerParts(pointer: string): string[] | undefined {
  if (pointer === "") return [];
  if (!pointer.startsWith("/")) return undefined;
  return pointer
    .slice(1)
    .split("/")
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
}

/** One part of a JSON pointer, escaped. */
export function pointerPart(key: string | number): string {
  return String(key).replaceAll("~", "~0").replaceAll("/", "~1");
}
