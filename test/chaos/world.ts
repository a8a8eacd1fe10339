import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { watchLeases } from "../dispatcher/lease-watching.ts";
import { Rig } from "../dispatcher/rig.ts";
import { startPostgres, type TestPostgres } from "../postgres/postgres.ts";
import { freePorts } from "../servers/watched-server.ts";
import { Slot } from "./slot.ts";
import { ToolServer } from "./tool-server.ts";

const SLOTS = 3;
/** Of one attempt: late answers come on either side of it. */
const CALL_TIMEOUT = "3s";

/** Everything that a run of the harness has: a database, a server and dispatchers of its own, and a controller's part. */
export interface World {
  readonly postgres: TestPostgres;
  readonly rig: Rig;
  readonly server: ToolServer;
  readonly slots: readonly Slot[];
  close(): Promise<void>;
}

export async function openWorld(): Promise<World> {
  const folder = mkdtempSync(join(tmpdir(), "holdpoint-chaos-"));
  const closing: (() => Promise<void>)[] = [async () => rmSync(folder, { recursive: true, force: true })];
  const close = async () => {
    for (const step of closing.splice(0).reverse()) await step();
  };
  try {
    const postgres = await startPostgres();
    closing.push(() => postgres.close());
    const rig = await Rig.open(postgres);
    closing.push(() => rig.close());
    const [port = 0] = await freePorts(1);
    const server = new ToolServer(port, folder);
    await server.start();
    closing.push(() => server.kill());
    await rig.toolset(toolsetSpec(server.url));
    await rig.sql.query(readFileSync(join(import.meta.dirname, "observers.sql"), "utf8"));
    closing.push(watchLeases(rig));
    const slots = await Promise.all(Array.from({ length: SLOTS }, (_, index) => Slot.open(rig, `slot${index}`)));
    for (const slot of slots) closing.push(() => slot.close());
    await rig.pinned();
    return { postgres, rig, server, slots, close };
  } catch (error) {
    await close();
    throw error;
  }
}

function toolsetSpec(url: string): object {
  const atMostOnce = { onInterruption: "AtMostOnce", timeout: CALL_TIMEOUT };
  return {
    servers: [{ name: "app", url }],
    policies: [
      { tools: ["app.act"], timeout: CALL_TIMEOUT },
      { tools: ["app.ask"], timeout: CALL_TIMEOUT, approval: "Required" },
      { tools: ["app.once"], ...atMostOnce },
      { tools: ["app.out"], ...atMostOnce, retention: "Outward" },
    ],
    limits: { concurrency: 4 },
  };
}
