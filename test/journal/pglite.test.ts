import { openPglite } from "../../src/journal/pglite.ts";
import { journalSuite } from "./journal.suite.ts";

journalSuite("PGlite", async () => {
  const sql = await openPglite("memory://");
  return { sql, close: () => sql.close() };
});
