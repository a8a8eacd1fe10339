import type { z } from "zod";
import { text } from "./fields.ts";
import { celList, celString, matching, type Rule, withRules } from "./rules.ts";

/** Groups of "rewind:tools" that Holdpoint itself fills (semantics 1.5). */
export const BUILT_IN_GROUPS = ["http", "webhook", "workflows", "rewind"] as const;

/** Words that JavaScript does not take as the name of an import. */
export const RESERVED_WORDS = [
  ..."arguments await break case catch class const continue debugger default delete do else enum eval export".split(
    " ",
  ),
  ..."extends false finally for function if implements import in instanceof interface let new null package".split(" "),
  ..."private protected public return static super switch this throw true try typeof undefined var void".split(" "),
  ..."while with yield".split(" "),
] as const;

/** What a group name looks like: it is imported by scripts. */
export const IDENTIFIER_PATTERN = "^[A-Za-z_$][A-Za-z0-9_$]*$";

function noneOf(words: readonly string[], message: string): Rule<string> {
  return { cel: `!(self in ${celList(words)})`, message, check: (self) => !words.includes(self) };
}

/** The name of a group of tools, as scripts import it from "rewind:tools". */
export function groupName(description: string): z.ZodString {
  return withRules(text(description, 63), [
    matching(IDENTIFIER_PATTERN, "write an identifier, as scripts import it: letters, digits, _ and $, no digit first"),
    noneOf(RESERVED_WORDS, "this is a reserved word of JavaScript, so no script could import it: take another name"),
    noneOf(BUILT_IN_GROUPS, "http, webhook, workflows and rewind are built-ins: take another name"),
  ]);
}

const SECRET_WORD =
  "[a-z0-9]*(token|key|secret)|pass(word|wd|phrase)?|pwd|sig|signature|auth|authorization|credentials?|jwt|bearer";
/** A query parameter whose name, or a part of it between - _ and ., is a word for a secret; or is percent-encoded. */
const SECRET_QUERY = `[?&;](([^=&;#]*[-_.])?(${SECRET_WORD})([-_.][^=&;#]*)?(=|&|;|#|$)|[^=&;#]*%[^=&;#]*(=|&|;|#|$))`;

const HOST = "([A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_])?[.]?|\\[[0-9A-Fa-f:.]+\\])";
const PORT = "(6553[0-5]|655[0-2][0-9]|65[0-4][0-9]{2}|6[0-4][0-9]{3}|[1-5][0-9]{4}|[0-9]{1,4})";
/** What RFC 3986 allows after the host. The URL parsers of Go and JavaScript would each mend or refuse other things. */
const REST = "([/?#]([A-Za-z0-9._~:/?#@!$&()*+,;='-]|\\[|\\]|%[0-9A-Fa-f]{2})*)?";
/** User and password are let through here: they have a rule of their own, with words of its own. */
const HTTP_URL = `^https?://([^/?#@]*@)?${HOST}(:${PORT})?${REST}$`;

/** A URL that holds no secret (semantics 1.8): http or https, exactly as it is used. */
export function secretFreeUrl(description: string): z.ZodString {
  return withRules(text(description, 2048), [
    {
      cel: `self.matches(${celString(HTTP_URL)}) && isURL(self)`,
      message: "write an absolute URL with http or https, such as https://mcp.example.com/mcp",
      check: (self) => new RegExp(HTTP_URL, "u").test(self) && URL.canParse(self),
    },
    matching("^[^/]*//[^/?#]*@", "no user or password in a URL: sign in with a Credential (auth: Credential)", {
      negate: true,
    }),
    matching(SECRET_QUERY, "no token, key or secret in a URL's query: sign in with a Credential (auth: Credential)", {
      ignoreCase: true,
      negate: true,
    }),
    matching("#", "no fragment (#…) in a URL: servers never see it", { negate: true }),
  ]);
}

/** What an HTTP header's name looks like (RFC 9110 token). */
export const HEADER_NAME_PATTERN = "^[A-Za-z0-9!#$%&*+.^_`|~-]{1,64}$";
const SECRET_HEADER =
  "^(authorization|proxy-authorization|cookie|set-cookie|key|token|auth|jwt|.*[-_](key|apikey|token|auth|jwt|signature)|.*(secret|password|credential|apikey|api-key).*|.*token)$";
const TRANSPORT_HEADER =
  "^(host|connection|content-.*|transfer-encoding|te|trailer|upgrade|keep-alive|expect|accept|accept-encoding|mcp-.*|last-event-id|traceparent|tracestate|idempotency-key)$";

/** The rules on the names of static headers: none that carries a secret, none that belongs to the transport. */
export const headerNameRules: readonly Rule<Record<string, string>>[] = [
  ...headerNames(SECRET_HEADER, "this header carries a secret, and a Toolset is no place for one: use a Credential"),
  ...headerNames(TRANSPORT_HEADER, "this header is set by the connection itself (host, content-*, accept, mcp-*, …)"),
];

function headerNames(pattern: string, message: string): Rule<Record<string, string>>[] {
  const expression = new RegExp(pattern, "iu");
  return [
    {
      cel: `!self.exists(name, name.matches('(?i)${pattern}'))`,
      message,
      check: (self) => !Object.keys(self).some((name) => expression.test(name)),
    },
  ];
}

const API_SERVER_AUDIENCE =
  "^((https?://)?kubernetes([.]default([.]svc([.].*)?)?)?(:[0-9]+)?/?|api|k3s|https?://(oidc[.]eks|container[.]googleapis)[.].*)$";

/** The audience of a service account token: never one that the API server itself would accept. */
export function tokenAudience(description: string): z.ZodString {
  return withRules(text(description, 512), [
    matching(
      API_SERVER_AUDIENCE,
      "this audience is the API server's own: the MCP server could act as the pod. Name the MCP server",
      {
        ignoreCase: true,
        negate: true,
      },
    ),
  ]);
}

/** A pattern over tool names: `*` stands for any characters, everything else for itself. */
export function toolPattern(description: string, example: string): z.ZodString {
  return withRules(text(description, 256), [
    matching("^[!-~]+$", `write a tool's name or a pattern with *, such as ${example}`),
  ]);
}
