/**
 * Whether `text` fits a pattern in which `*` stands for any run of characters, dots included, and everything else for itself.
 * Linear in practice and without a regular expression, so that no pattern of a user can stall the matcher.
 */
export function matchesGlob(pattern: string, text: string): boolean {
  let at = 0;
  let inPattern = 0;
  let starAt = -1;
  let resumeAt = 0;
  while (at < text.length) {
    if (pattern[inPattern] === "*") {
      starAt = inPattern++;
      resumeAt = at;
    } else if (pattern[inPattern] === text[at]) {
      inPattern++;
      at++;
    } else if (starAt >= 0) {
      inPattern = starAt + 1;
      at = ++resumeAt;
    } else return false;
  }
  while (pattern[inPattern] === "*") inPattern++;
  return inPattern === pattern.length;
}

/**
 * Whether a policy's tool pattern (`github.create_*`, `*`, `http.fetch`) names this tool.
 * @param tool the full name, `group.name`, with the name exactly as the server defines it
 */
export function matchesToolPattern(pattern: string, tool: string): boolean {
  return matchesGlob(pattern, tool);
}

/** Which tools of a server a Toolset takes: those that fit an `include` (absent: all) and no `exclude`. Names, without group. */
export interface ToolSelection {
  readonly include?: readonly string[];
  readonly exclude?: readonly string[];
}

/** Whether the selection takes the tool of that name (semantics 1.1). */
export function isSelected(selection: ToolSelection, name: string): boolean {
  const include = selection.include ?? ["*"];
  const exclude = selection.exclude ?? [];
  return (
    include.some((pattern) => matchesGlob(pattern, name)) && !exclude.some((pattern) => matchesGlob(pattern, name))
  );
}
