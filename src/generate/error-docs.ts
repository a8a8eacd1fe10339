import { callErrorCodes, type ErrorCode, runErrorCodes, systemErrorCodes } from "../base/errors.ts";

const SECTIONS: readonly [title: string, intro: string, codes: Readonly<Record<string, ErrorCode>>][] = [
  [
    "Calls",
    "What a script gets as `ToolError.code`. A run that does not handle such an error fails with the same code.",
    callErrorCodes,
  ],
  ["Runs", "How else a run can fail: `status.error.code`.", runErrorCodes],
  ["Everything else", "Reasons of conditions, and what the commands and programs say.", systemErrorCodes],
];

/** The page that lists every error code a user can meet, with what to do: `docs/errors.md`. */
export function errorDocs(): string {
  const sections = SECTIONS.map(([title, intro, codes]) => {
    const rows = Object.entries(codes).map(([code, { help }]) => `| \`${code}\` | ${help} |`);
    return [`## ${title}`, "", intro, "", "| Code | What it means, and what to do |", "|---|---|", ...rows].join("\n");
  });
  return [
    "# Error codes",
    "",
    "<!-- Made by `make generate` from src/base/errors.ts. -->",
    "",
    sections.join("\n\n"),
    "",
  ].join("\n");
}
