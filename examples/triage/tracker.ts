import { McpServer } from "@modelcontextprotocol/server";
import { z } from "zod";
import type { IssueStore } from "./issue-store.ts";

const repo = z.string().describe("The repository, such as acme/app.");
const number = z.number().int().describe("The issue's number.");
const listed = z.object({
  issues: z.array(
    z.object({
      number,
      title: z.string(),
      labels: z.array(z.string()),
      state: z.enum(["open", "closed"]),
      comments: z.number().int(),
    }),
  ),
});
const created = z.object({ number, title: z.string() });
const commented = z.object({ number, comments: z.number().int() });

/** Effects outside, each of which the tracker makes once per idempotency key. */
const outward = { "newt/retention": "outward", "newt/idempotent": true };

/** The tracker as an MCP server: one instance per request, all of them over the same store. */
export function trackerServer(store: IssueStore): McpServer {
  const server = new McpServer({ name: "tracker", version: "1.0.0" });
  server.registerTool(
    "list_issues",
    {
      description: "Lists the issues of a repository.",
      inputSchema: z.object({ repo, state: z.enum(["open", "closed"]).optional() }),
      outputSchema: listed,
      annotations: { readOnlyHint: true },
      _meta: { "newt/retention": "ephemeral" },
    },
    ({ repo, state }) => {
      const chosen = store.issues(repo).filter((issue) => state === undefined || issue.state === state);
      const issues = chosen.map(({ body: _body, comments, labels, ...issue }) => ({
        ...issue,
        labels: [...labels],
        comments: comments.length,
      }));
      return answer({ issues }, `${issues.length} issues in ${repo}`);
    },
  );
  server.registerTool(
    "create_issue",
    {
      description: "Creates an issue.",
      inputSchema: z.object({
        repo,
        title: z.string().min(1).max(256),
        body: z.string().optional(),
        labels: z.array(z.string()).optional(),
      }),
      outputSchema: created,
      _meta: outward,
    },
    ({ repo, title, body = "", labels = [] }, ctx) => {
      const made = store.once(idempotencyKey(ctx.mcpReq._meta), repo, (issues) => {
        const next = Math.max(0, ...issues.map((issue) => issue.number)) + 1;
        const issue = { number: next, title, body, labels, state: "open" as const, comments: [] };
        return { issues: [...issues, issue], answer: { number: next, title } };
      });
      return answer(made, `Created ${repo}#${made.number}: ${made.title}`);
    },
  );
  server.registerTool(
    "add_comment",
    {
      description: "Adds a comment to an issue.",
      inputSchema: z.object({ repo, number, body: z.string().min(1) }),
      outputSchema: commented,
      _meta: outward,
    },
    ({ repo, number, body }, ctx) => {
      const known = store.issues(repo).some((issue) => issue.number === number);
      if (!known) return { isError: true, content: [{ type: "text", text: `${repo} has no issue ${number}` }] };
      const made = store.once(idempotencyKey(ctx.mcpReq._meta), repo, (issues) => {
        const changed = issues.map((issue) =>
          issue.number === number ? { ...issue, comments: [...issue.comments, body] } : issue,
        );
        const comments = changed.find((issue) => issue.number === number)?.comments.length ?? 0;
        return { issues: changed, answer: { number, comments } };
      });
      return answer(made, `Commented on ${repo}#${number}`);
    },
  );
  return server;
}

/** A result as the schema says, the same as text for clients that read no structured content, and what history keeps of it. */
function answer<Value extends Record<string, unknown>>(value: Value, summary: string) {
  return {
    content: [{ type: "text" as const, text: JSON.stringify(value) }],
    structuredContent: value,
    _meta: { "newt/summary": summary },
  };
}

/** The key is the same on every attempt at a call; both names carry it. */
function idempotencyKey(meta: Readonly<Record<string, unknown>> | undefined): string | undefined {
  const key = meta?.["codes.rewind/idempotency-key"] ?? meta?.["newt/idempotency_key"];
  return typeof key === "string" ? key : undefined;
}
