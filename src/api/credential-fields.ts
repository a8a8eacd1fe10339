import { z } from "zod";
import { conditionsField } from "./conditions.ts";
import { integer, objectName, oneOf, optional, text, time, toolsetName } from "./fields.ts";
import { matching, withRules } from "./rules.ts";
import { groupName, HEADER_NAME_PATTERN } from "./server-rules.ts";

/** How a Credential signs in, and the keys of the Secret that each type needs. */
export const credentialSecretKeys = {
  Bearer: ["token"],
  Header: ["value"],
  Basic: ["username", "password"],
  OAuth2: ["clientId", "clientSecret", "refreshToken", "tokenUrl"],
} as const;

export type CredentialType = keyof typeof credentialSecretKeys;

export const credentialSpecSchema = withRules(
  z.strictObject({
    toolset: toolsetName("Name of the Toolset whose calls it is for, in the same namespace."),
    server: optional(groupName("The server of the Toolset that it is for.")),
    host: optional(
      withRules(text("The host that it is for, with the http tool.", 260), [
        matching(
          "^([A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?[.])*[A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?(:[0-9]{1,5})?$",
          "write a host such as api.github.com, without scheme, path and *",
        ),
      ]),
    ),
    endUser: optional(text("On whose behalf it is used. The Toolset's own unless set.", 256)),
    type: oneOf(
      "How it signs in; says which keys the Secret has.",
      Object.keys(credentialSecretKeys) as CredentialType[],
    ),
    header: optional(
      withRules(text("With type Header: the header's name.", 64), [
        matching(HEADER_NAME_PATTERN, "write a header's name: letters, digits and -"),
        matching(
          "^(host|connection|content-.*|transfer-encoding|te|trailer|upgrade|mcp-.*)$",
          "this header is set by the connection itself: take another one",
          { ignoreCase: true, negate: true },
        ),
      ]),
    ),
    secretRef: z
      .strictObject({ name: objectName("Name of the Secret, in the same namespace.") })
      .describe(
        "The Secret. Keys by type: Bearer token; Header value; Basic username, password; OAuth2 clientId, clientSecret, refreshToken, tokenUrl. Whoever names a Secret needs get on it.",
      ),
    expiresAt: optional(time("When it expires, if that is known.")),
  }),
  [
    {
      cel: "has(self.server) != has(self.host)",
      message: "give exactly one of server (an MCP server of the Toolset) and host (for the http tool)",
      check: ({ server, host }) => (server === undefined) !== (host === undefined),
    },
    {
      cel: "self.type != 'Header' || has(self.header)",
      message: "type: Header needs header: the name of the header, such as x-api-key",
      check: ({ type, header }) => type !== "Header" || header !== undefined,
    },
    {
      cel: "self.type == 'Header' || !has(self.header)",
      message: "header goes with type: Header only: set that, or remove header",
      check: ({ type, header }) => type === "Header" || header === undefined,
    },
  ],
).describe("How calls of one Toolset sign in to one server or host.");

export const credentialStatusSchema = z
  .strictObject({
    observedGeneration: optional(integer("The generation of the spec that this status is about.", 0)),
    expiresAt: optional(time("When it expires: of spec, or as the server said.")),
    lastUsedAt: optional(time("When a call last used it.")),
    lastRejectedAt: optional(time("When a server last refused it.")),
    version: optional(text("Which version of the secret is in use; never anything of its content.", 128)),
    conditions: conditionsField(),
  })
  .describe("What holds now. Written by the controller only.");

export type CredentialSpec = z.output<typeof credentialSpecSchema>;
export type CredentialStatus = z.output<typeof credentialStatusSchema>;
