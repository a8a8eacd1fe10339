import { makePin } from "../../src/toolset/make-pin.ts";
import type { Pin } from "../../src/toolset/pin.ts";

/** A pin of one server with these tools, each as a server would list it. */
export function pinOf(tools: readonly unknown[], group = "github"): Pin {
  const server = { name: group, url: `http://${group}/mcp`, protocol: "Auto", auth: "None", headers: {} };
  const made = makePin({ servers: [{ server, selection: {}, tools }], policies: [], limits: {}, reservedNames: [] });
  if (!made.ok) throw new Error(JSON.stringify(made.faults));
  return made.pin;
}
