import { openPostgres } from "../../src/journal/postgres.ts";
import { createDatabase } from "../postgres/postgres.ts";
import { journalSuite } from "./journal.suite.ts";

journalSuite("Postgres", async () => {
  const database = await createDatabase();
  const sql = openPostgres({
    url: database.url,
    directUrl: database.url,
    connectionsMax: 10,
    onConnectionError: () => {},
  });
  return {
    sql,
    close: async () => {
      await sql.close();
      await database.drop();
    },
  };
});
