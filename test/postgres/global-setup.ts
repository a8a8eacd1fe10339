import { publishServer, startPostgres } from "./postgres.ts";

/** One Postgres server for all test files; each makes databases of its own. */
export default async function setup(): Promise<() => Promise<void>> {
  const server = await startPostgres();
  await publishServer(server.url);
  return () => server.close();
}
