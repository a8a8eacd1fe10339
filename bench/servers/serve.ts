import type { Server } from "node:http";
import type { AddressInfo } from "node:net";

/** Listens on a free port, prints the URL, and ends with the process that started it. */
export function serveUntilParentEnds(server: Server): void {
  server.keepAliveTimeout = 60_000;
  server.listen(0, "127.0.0.1", 4_096, () => {
    process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp\n`);
  });
  process.stdin.on("end", () => process.exit(0)).resume();
}
