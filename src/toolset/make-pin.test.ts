import { readFileSync } from "node:fs";
import fc from "fast-check";
import { expect, test } from "vitest";
import { type Json, type JsonObject, parseExact } from "../base/exact-json.ts";
import { makePin, type PinInput, type PinResult, pinDigest } from "./make-pin.ts";
import type { PinContent, PinnedServer } from "./pin.ts";

function server(name: string): PinnedServer {
  return { name, url: `http://${name}/mcp`, protocol: "Auto", auth: "None", headers: {} };
}

function pin(tools: readonly unknown[], more: Partial<PinInput> = {}): PinResult {
  const servers = [{ server: server("github"), selection: {}, tools }];
  return makePin({ servers, policies: [], limits: {}, reservedNames: [], ...more });
}

function codes(result: PinResult): string[] {
  return result.ok ? [] : result.faults.map((fault) => `${fault.code} ${fault.tool}`);
}

test("[semantics 1.5] all reasons against a pin are given at once", () => {
  const tools = [
    { name: "twice" },
    { name: "twice" },
    { name: "twice" },
    { name: "read_file" },
    { name: "send", _meta: { "newt/retention": "outward" } },
  ];
  expect(codes(pin(tools, { reservedNames: ["read_file"] }))).toEqual([
    "NameClash github.twice",
    "ReservedName github.read_file",
    "OutwardNotIdempotent github.send",
  ]);
});

test.each(["http", "webhook", "workflows", "rewind", "two words", "9lives", "delete", "await", ""])(
  "[semantics 1.5] no group may be called %j",
  (name) => {
    const servers = [{ server: server(name), selection: {}, tools: [] }];
    expect(codes(pin([], { servers }))).toEqual([`NameClash ${name}`]);
  },
);

test("[semantics 1.5] an excluded tool clashes with nothing", () => {
  const servers = [
    {
      server: server("s"),
      selection: { exclude: ["send"] },
      tools: [{ name: "send", _meta: { "newt/retention": "outward" } }],
    },
  ];
  expect(codes(pin([], { servers, reservedNames: ["send"] }))).toEqual([]);
});

test.each<[string, JsonObject, JsonObject[], boolean]>([
  ["tagged outward and idempotent", { "newt/retention": "outward", "newt/idempotent": true }, [], true],
  ["tagged outward alone", { "newt/retention": "outward" }, [{ tools: ["*"], onInterruption: "AtMostOnce" }], false],
  ["idempotent as a text", { "newt/retention": "outward", "newt/idempotent": "true" }, [], false],
  ["outward by policy alone", {}, [{ tools: ["github.*"], retention: "Outward" }], false],
  ["outward by policy, tagged", { "newt/idempotent": true }, [{ tools: ["*"], retention: "Outward" }], true],
  ["outward by policy, at most once", {}, [{ tools: ["*"], retention: "Outward", onInterruption: "AtMostOnce" }], true],
  ["outward by policy, parked", {}, [{ tools: ["*"], retention: "Outward", onInterruption: "Park" }], true],
  ["outward by a later policy", {}, [{ tools: ["*"] }, { tools: ["*"], retention: "Outward" }], true],
])("[semantics 1.5] %s", (_what, tags, policies, accepted) => {
  expect(pin([{ name: "send", _meta: tags }], { policies }).ok).toBe(accepted);
});

const word = fc.constantFrom("a", "b", "title", "$ref", "__proto__", "ü", "\u2028", "x".repeat(50));
const json: fc.Arbitrary<Json> = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small" },
    fc.constant(null),
    fc.boolean(),
    fc.integer(),
    fc
      .bigInt({ min: 2n ** 53n, max: 2n ** 70n })
      .map((value) => (BigInt(Number(value)) === value ? value + 1n : value)),
    word,
    fc.array(tie("value"), { maxLength: 3 }),
    fc.dictionary(word, tie("value"), { maxKeys: 3 }),
  ),
})).value;
const annotated = fc.uniqueArray(
  fc.record({ name: fc.string({ minLength: 1, maxLength: 8, unit: "binary-ascii" }), annotations: json }),
  {
    selector: (tool) => tool.name,
    maxLength: 6,
  },
);

test("[semantics 1.2] the order of tools, servers and keys does not count", () => {
  fc.assert(
    fc.property(annotated, fc.infiniteStream(fc.nat()), (tools, random) => {
      const listed = (entries: readonly unknown[]) => [
        { server: server("one"), selection: {}, tools: entries },
        { server: server("two"), selection: {}, tools: entries },
      ];
      const order = tools.map((tool) => ({ tool, at: random.next().value })).sort((left, right) => left.at - right.at);
      const shuffled = order.map(({ tool }) => reversed(tool as unknown as Json));
      const first = pin([], { servers: listed(tools) });
      const second = pin([], { servers: listed(shuffled).reverse() });
      expect(first.ok && second.ok && first.pin.digest === second.pin.digest).toBe(true);
    }),
    { numRuns: 100 },
  );
});

/** The same value with its keys the other way round. */
function reversed(value: Json): Json {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(reversed);
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, item]) => [key, reversed(item)]),
  );
}

test("[semantics 1.2] the order of policies counts, as the first match wins", () => {
  const policies = [{ tools: ["a*"] }, { tools: ["*"] }];
  const digest = (result: PinResult) => (result.ok ? result.pin.digest : "none");
  expect(digest(pin([], { policies }))).not.toBe(digest(pin([], { policies: policies.toReversed() })));
  expect(digest(pin([], { policies }))).toBe(digest(pin([], { policies, reservedNames: ["x"] })));
});

interface Vector {
  readonly name: string;
  readonly content: PinContent;
  readonly digest: string;
  readonly contracts: Readonly<Record<string, string>>;
}
const vectorsText = readFileSync(new URL("../../docs/pin-digest-vectors.json", import.meta.url), "utf8");
const vectors = parseExact(vectorsText) as unknown as readonly Vector[];

test.each(vectors)("[semantics 1.2] digest vector: $name", ({ content, digest, contracts }) => {
  expect(pinDigest(content)).toBe(digest);
  const servers = content.servers.map((pinned) => ({
    server: pinned,
    selection: {},
    tools: content.tools
      .filter((tool) => tool.group === pinned.name)
      .map(({ tags, ...tool }) => ({ ...tool, _meta: tags })),
  }));
  const made = pin([], { servers, policies: content.policies, limits: content.limits });
  expect(made.ok && made.pin.digest).toBe(digest);
  expect(made.ok && made.pin.contracts).toEqual(contracts);
});
