import { randomUUID } from "node:crypto";
import { lstatSync, rmSync } from "node:fs";
import { mkdir, realpath } from "node:fs/promises";
import { connect, createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { digestText } from "../base/digest.ts";
import { HoldpointError } from "../base/errors.ts";

/** A state folder that this process holds. */
export interface FolderLock {
  release(): Promise<void>;
}

/** The kernel takes about 104 bytes of path on macOS and 108 on Linux, the closing zero included. */
const SOCKET_PATH_BYTES_MAX = 100;
const ANSWER_TIMEOUT_MS = 1_000;
const TRIES_MAX = 5;

/** A predecessor's socket that two processes remove at once may be one's new one: looked at again after this pause. */
const CONFIRM_PAUSE_MS = 60;

/**
 * Takes a state folder for this process, by listening on a Unix socket in it. Where nobody answers, whoever held it is dead
 * and its place is taken at once (journal.md, "Same place, at once").
 * @throws HoldpointError `StateFolderInUse`
 */
export async function lockFolder(folder: string): Promise<FolderLock> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const path = await socketPath(folder);
  const token = randomUUID();
  for (let attempt = 1; attempt <= TRIES_MAX; attempt += 1) {
    const server = await listen(path, token);
    if (server !== undefined) {
      await delay(CONFIRM_PAUSE_MS);
      if ((await whoHolds(path)) === token) return { release: () => closed(server) };
      await closed(server);
    } else {
      const seen = socketIdentity(path);
      if ((await whoHolds(path)) !== undefined) break;
      // A socket that was just made refuses for a moment as well, until its owner listens: only one that still refuses is dead.
      await delay(CONFIRM_PAUSE_MS);
      if ((await whoHolds(path)) !== undefined) break;
      removeDeadSocket(path, seen);
    }
  }
  throw new HoldpointError("StateFolderInUse", `another holdpoint dev works on the state folder ${folder}`);
}

/** Tells one socket from a later one in its place: inode numbers alone are used again at once. */
function socketIdentity(path: string): string | undefined {
  const found = lstatSync(path, { bigint: true, throwIfNoEntry: false });
  return found && `${found.ino} ${found.ctimeNs}`;
}

/**
 * Removes the socket that was found dead, and no other: somebody else may have taken the place meanwhile. Looking and removing
 * stand directly together, without a turn of the event loop between.
 */
function removeDeadSocket(path: string, seen: string | undefined): void {
  if (seen !== undefined && socketIdentity(path) === seen) rmSync(path, { force: true });
}

/** In the folder where the kernel takes that path, else under the system's temporary folder, named by the real folder's digest. */
async function socketPath(folder: string): Promise<string> {
  const real = await realpath(folder);
  const inside = join(real, "holder.sock");
  if (Buffer.byteLength(inside) <= SOCKET_PATH_BYTES_MAX) return inside;
  return join(tmpdir(), `holdpoint-${digestText(real).slice(-24)}.sock`);
}

/** @returns undefined when somebody listens there, or did and died without removing it */
function listen(path: string, token: string): Promise<Server | undefined> {
  return new Promise((resolve, reject) => {
    const server = createServer((socket) => socket.on("error", () => {}).end(token));
    server.once("error", (error: NodeJS.ErrnoException) =>
      error.code === "EADDRINUSE" ? resolve(undefined) : reject(error),
    );
    server.listen(path, () => {
      // Holding the folder is nothing that keeps the process alive.
      server.unref();
      resolve(server);
    });
  });
}

function closed(server: Server): Promise<void> {
  return new Promise((resolve) => server.close(() => resolve()));
}

/** The holder's token; empty when it lives but does not say (stopped, or busy); undefined when nobody is there. */
function whoHolds(path: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect(path);
    let token = "";
    const end = (answer: string | undefined) => {
      socket.destroy();
      resolve(answer);
    };
    socket.setTimeout(ANSWER_TIMEOUT_MS, () => end(token));
    socket.on("data", (chunk) => {
      token += chunk.toString("utf8");
    });
    socket.once("end", () => end(token));
    socket.once("error", ({ code }: NodeJS.ErrnoException) =>
      end(code === "ECONNREFUSED" || code === "ENOENT" ? undefined : token),
    );
  });
}
