import type { ToolsetSpec } from "../api/toolset-spec.ts";
import type { Clock } from "../base/clock.ts";
import { HoldpointError } from "../base/errors.ts";
import { type JsonObject, parseExact, stringifyExact } from "../base/exact-json.ts";
import type { Logger } from "../base/log.ts";
import type { DiscoveryReport, PinNotes, ServerReport } from "../journal/documents.ts";
import { recordPinAttempt } from "../journal/pins.ts";
import type { Sql } from "../journal/sql.ts";
import type { ToolsetState } from "../journal/toolsets.ts";
import type { ToolListing } from "../tools/port.ts";
import { makePin, type ServerListing } from "../toolset/make-pin.ts";
import type { Pin, PinnedServer } from "../toolset/pin.ts";
import type { ToolSources } from "./tool-sources.ts";

export interface DiscoverSpec {
  readonly sql: Sql;
  readonly incarnationId: string;
  readonly toolset: ToolsetState;
  readonly sources: ToolSources;
  readonly clock: Clock;
  readonly log: Logger;
}

/** One server's whole listing, all pages together. */
const LISTING_TIMEOUT_MS = 60_000;

type ServerSpec = NonNullable<ToolsetSpec["servers"]>[number];

/** How asking one server ended. */
type Asked = { readonly report: ServerReport } & (
  | { readonly listing: ServerListing }
  | { readonly fault: { readonly code: string; readonly message: string } }
);

/**
 * Pins a Toolset: lists the tools of every server and stores the pin, or why there is none. All or nothing: while one server
 * fails no pin is made and the old one stays (semantics 1.7).
 */
export async function discover(spec: DiscoverSpec): Promise<void> {
  const { toolset } = spec;
  const wanted = parseExact(toolset.specText) as unknown as ToolsetSpec;
  const asked = await Promise.all((wanted.servers ?? []).map((server) => askServer(server, spec)));
  const failed = asked.find((answer) => "fault" in answer);
  const servers = asked.map(({ report }) => report);
  const result = failed
    ? { fault: failed.fault }
    : pinOf(
        wanted,
        asked.flatMap((answer) => ("listing" in answer ? [answer.listing] : [])),
      );
  const report: DiscoveryReport = {
    generation: toolset.generation,
    servers,
    ...("fault" in result ? { fault: result.fault } : {}),
  };
  await recordPinAttempt(spec.sql, spec.incarnationId, {
    toolsetId: toolset.toolsetId,
    pinWanted: toolset.pinWanted,
    reportText: JSON.stringify(report),
    ...("pin" in result ? { pin: storedPin(result.pin) } : {}),
  });
  if ("pin" in result)
    spec.log.info(
      { toolset: toolset.name, digest: result.pin.digest, tools: result.pin.content.tools.length },
      "pinned",
    );
  else
    spec.log.warn({ toolset: toolset.name, code: result.fault.code, cause: result.fault.message }, "no pin was made");
}

async function askServer(server: ServerSpec, spec: DiscoverSpec): Promise<Asked> {
  const pinned = pinnedServer(server);
  try {
    const listing = await spec.sources.get(pinned).list(AbortSignal.timeout(LISTING_TIMEOUT_MS));
    const selection = server.tools ?? {};
    const report = { ...serverReport(server, listing), lastSeenMs: spec.clock.nowMs() };
    return { report, listing: { server: pinned, selection, tools: listing.tools } as ServerListing };
  } catch (error) {
    const code = error instanceof HoldpointError ? error.code : "ServerUnreachable";
    if (!(error instanceof HoldpointError))
      spec.log.error({ err: error, server: server.name }, "the server could not be listed");
    const message = `server ${server.name}: ${(error as Error).message}`;
    return { report: { name: server.name, reachable: false, tools: 0, message }, fault: { code, message } };
  }
}

function serverReport(server: ServerSpec, listing: ToolListing): ServerReport {
  return {
    name: server.name,
    reachable: true,
    protocol: listing.protocol,
    ...(listing.serverInfo === undefined ? {} : { serverInfo: listing.serverInfo }),
    tools: listing.tools.length,
  };
}

/** A server as it is pinned: with every choice that the spec leaves open made explicit. */
function pinnedServer(server: ServerSpec): PinnedServer {
  return {
    name: server.name,
    url: server.url,
    protocol: server.protocol ?? "Auto",
    auth: server.auth ?? "None",
    headers: server.headers ?? {},
  };
}

function pinOf(
  wanted: ToolsetSpec,
  listings: readonly ServerListing[],
): { pin: Pin } | { fault: { code: string; message: string } } {
  const result = makePin({
    servers: listings,
    policies: (wanted.policies ?? []) as unknown as JsonObject[],
    limits: (wanted.limits ?? {}) as JsonObject,
    reservedNames: wanted.reservedNames ?? [],
  });
  if (result.ok) return { pin: result.pin };
  const [first] = result.faults;
  return {
    fault: { code: first?.code ?? "NameClash", message: result.faults.map((fault) => fault.message).join("; ") },
  };
}

function storedPin(pin: Pin) {
  const notes: PinNotes = { contracts: pin.contracts, refused: pin.refused, warnings: pin.warnings };
  return { digest: pin.digest, contentText: stringifyExact(pin.content), notesText: JSON.stringify(notes) };
}
