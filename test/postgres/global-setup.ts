import { isServerPublished, publishServer, startPostgres } from "./postgres.ts";

/** One Postgres server for all test files of all projects that name this file; each makes databases of its own. */
export default async function setup(): Promise<() => Promise<void>> {
  if (isServerPublished()) return async () => {};
  const server = await startPostgres();
  const unpublish = await publishServer(server.url);
  return async () => {
    await unpublish();
    await server.close();
  };
}
