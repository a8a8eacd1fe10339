import { parseArgs } from "node:util";
import type { LedgerEntry } from "../mcp/ledger.ts";
import type { Fault } from "../mcp/ledger-behaviour.ts";
import { startLedgerServer } from "../mcp/ledger-server.ts";

/** What the harness tells the server. */
export type ServerCommand =
  /** The next call meets it; held answers go out `releaseAfterMs` later. */
  | { readonly kind: "fault"; readonly fault: Fault; readonly releaseAfterMs?: number }
  /** Faults that no call has met yet are dropped. */
  | { readonly kind: "heal" };

/** What the server tells the harness. */
export type ServerNotice = { readonly kind: "ready" } | { readonly kind: "healed"; readonly unused: number };

export type { LedgerEntry };

const { values } = parseArgs({ options: { port: { type: "string" }, ledger: { type: "string" } } });
const tool = (name: string) => ({ name, inputSchema: { type: "object" } });
const server = await startLedgerServer({
  port: Number(values.port),
  ledgerFile: String(values.ledger),
  tools: [tool("act"), tool("once"), tool("out"), tool("ask")],
});
const tell = (notice: ServerNotice) => process.send?.(notice);

process.on("message", (command: ServerCommand) => {
  if (command.kind === "fault") {
    server.behaviour.faults.push(command.fault);
    if (command.releaseAfterMs !== undefined) setTimeout(() => server.release(), command.releaseAfterMs);
    return;
  }
  tell({ kind: "healed", unused: server.behaviour.faults.length });
  server.behaviour.faults = [];
  server.release();
});
// Nobody is left to serve.
process.on("disconnect", () => process.exit(0));
tell({ kind: "ready" });
