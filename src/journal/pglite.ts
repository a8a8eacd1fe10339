import { PGlite, types } from "@electric-sql/pglite";
import type { QueryResult, Sql } from "./sql.ts";

/**
 * Opens Postgres inside the process, kept in a folder. One process at a time: the caller holds the folder.
 * @param folder where the database lives; it is made when it is missing
 */
export async function openPglite(folder: string): Promise<Sql> {
  const database = await PGlite.create({ dataDir: folder, parsers: { [types.INT8]: Number } });
  return {
    query: async <Row>(statement: string, values: readonly unknown[] = []) =>
      asResult<Row>(await database.query(statement, [...values])),
    transaction: (work) =>
      database.transaction((transaction) =>
        work({
          query: async <Row>(statement: string, values: readonly unknown[] = []) =>
            asResult<Row>(
              values.length > 0
                ? await transaction.query(statement, [...values])
                : last(await transaction.exec(statement)),
            ),
        }),
      ) as ReturnType<typeof work>,
    listen: (channel, onHint) => database.listen(channel, onHint),
    notify: (channel) => void database.query("select pg_notify($1, '')", [channel]).catch(() => {}),
    close: () => database.close(),
  };
}

interface PgliteResult {
  readonly rows: readonly unknown[];
  readonly affectedRows?: number;
}

function last(results: readonly PgliteResult[]): PgliteResult {
  return results.at(-1) ?? { rows: [] };
}

function asResult<Row>(result: PgliteResult): QueryResult<Row> {
  return { rows: result.rows as Row[], rowCount: result.affectedRows || result.rows.length };
}
