import { expect, test } from "vitest";
import { findDrift } from "./drift.ts";
import { normaliseListing } from "./listing.ts";
import { makePin } from "./make-pin.ts";
import type { Pin } from "./pin.ts";

const SERVER = { name: "s", url: "http://s/", protocol: "Auto", auth: "None", headers: {} };
const TITLED = {
  type: "object",
  properties: { title: { type: "string", description: "the title" } },
  required: ["title"],
};

function pinOf(tools: readonly unknown[]): Pin {
  const made = makePin({
    servers: [{ server: SERVER, selection: {}, tools }],
    policies: [],
    limits: {},
    reservedNames: [],
  });
  if (!made.ok) throw new Error(JSON.stringify(made.faults));
  return made.pin;
}

test("[semantics 1.9] a changed schema is drift with a readable summary; a tool that came or went too", () => {
  const pin = pinOf([{ name: "create", inputSchema: TITLED }, { name: "gone" }]);
  const now = [
    {
      name: "create",
      inputSchema: { type: "object", properties: { title: { type: "number" }, body: {} }, required: ["title", "body"] },
    },
    { name: "fresh" },
  ];
  expect(findDrift(pin, "s", normaliseListing("s", now))).toEqual({
    entries: [
      {
        tool: "s.create",
        change: "Changed",
        summary:
          'inputSchema.properties.body added: {}; inputSchema.properties.title.type: "string" → "number"; inputSchema.required: ["title"] → ["body","title"]',
      },
      { tool: "s.fresh", change: "Added", summary: expect.any(String) },
      { tool: "s.gone", change: "Removed", summary: "the server no longer lists it" },
    ],
    wordsChanged: [],
  });
});

test("[semantics 1.9] words, examples, defaults and the order of sets are no drift; words are shown", () => {
  const pin = pinOf([{ name: "create", description: "one", inputSchema: TITLED }]);
  const inputSchema = {
    required: ["title"],
    properties: {
      title: { description: "now 12:00", default: "12:00", examples: ["x"], type: "string", $comment: "c" },
    },
    type: "object",
    title: "Other",
  };
  const drift = findDrift(pin, "s", normaliseListing("s", [{ name: "create", description: "two", inputSchema }]));
  expect(drift).toEqual({ entries: [], wordsChanged: ["s.create"] });
});

test("[semantics 1.9] a property that is called title or default is data, not words", () => {
  const shaped = (type: string) => ({ type: "object", properties: { title: { type }, default: { type: "string" } } });
  const pin = pinOf([{ name: "t", inputSchema: shaped("string") }]);
  const drift = findDrift(pin, "s", normaliseListing("s", [{ name: "t", inputSchema: shaped("number") }]));
  expect(drift.entries.map((entry) => entry.change)).toEqual(["Changed"]);
});

test("[semantics 1.9] newt tags are part of the contract", () => {
  const pin = pinOf([{ name: "t", _meta: { "newt/retention": "durable" } }]);
  const now = normaliseListing("s", [{ name: "t", _meta: { "newt/retention": "ephemeral" } }]);
  expect(findDrift(pin, "s", now).entries[0]?.summary).toContain('"durable" → "ephemeral"');
});

test("[case a05] an output schema that was set aside and still dangles is no drift", () => {
  const outputSchema = { type: "object", properties: { parent: { $ref: "#/$defs/Board" } } };
  const pin = pinOf([{ name: "t", outputSchema }]);
  expect(findDrift(pin, "s", normaliseListing("s", [{ name: "t", outputSchema }]))).toEqual({
    entries: [],
    wordsChanged: [],
  });
});

test("a tool whose schema became useless is removed, with the reason", () => {
  const drift = findDrift(
    pinOf([{ name: "t" }]),
    "s",
    normaliseListing("s", [{ name: "t", inputSchema: { type: "string" } }]),
  );
  expect(drift.entries).toEqual([
    { tool: "s.t", change: "Removed", summary: expect.stringContaining("takes no object") },
  ]);
});
