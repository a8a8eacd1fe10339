import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** A TCP proxy in front of Postgres that can hold back either direction: what a network does at the worst moment. */
export interface DatabaseProxy {
  /** The database's URL, through the proxy. */
  readonly url: string;
  /** Once a request holds this text, its answer and everything after it are held back. */
  holdAnswersAfter(text: string): void;
  /**
   * The next request that holds this text and finds a row is passed on; once the server has carried it out (and committed,
   * if it is a transaction of its own), the connection is cut before a byte of the answer goes back.
   */
  cutAfter(text: string): void;
  /** The next request that holds this text is passed on so much later, and what follows on its connection behind it. */
  delayNext(text: string, delayMs: number): void;
  /** How many requests `delayNext` has delayed. */
  delays(): number;
  /** How many connections `cutAfter` has cut. */
  cuts(): number;
  /** Requests are held back from now on. */
  holdRequests(): void;
  /** Bytes that were held back so far. */
  heldBytes(): number;
  /** Passes on what was held, and holds nothing any more. */
  letGo(): void;
  /** Cuts every connection, as a crash of the network does. */
  cut(): void;
  close(): Promise<void>;
}

interface Pair {
  readonly client: Socket;
  readonly server: Socket;
  readonly toClient: Buffer[];
  readonly toServer: Buffer[];
  /** Set when the server's next complete answer is to be swallowed and the connection cut: the text that asked for it. */
  doom: string | undefined;
  /** What came of that answer so far. */
  readonly swallowed: Buffer[];
}

/** The last message of a complete answer: ReadyForQuery, 6 bytes long. */
const READY_FOR_QUERY = Buffer.from([0x5a, 0, 0, 0, 5]);
/** How a statement that touched nothing is answered. */
const TOUCHED_NOTHING = ["UPDATE 0\0", "SELECT 0\0", "INSERT 0 0\0"];

export async function startDatabaseProxy(databaseUrl: string): Promise<DatabaseProxy> {
  const upstream = new URL(databaseUrl);
  const pairs = new Set<Pair>();
  let trigger: string | undefined;
  let cutTrigger: string | undefined;
  let cutCount = 0;
  let delayTrigger: { text: string; delayMs: number } | undefined;
  let delayCount = 0;
  let answersHeld = false;
  let requestsHeld = false;
  let held = 0;

  const pass = (isHeld: boolean, queue: Buffer[], to: Socket, chunk: Buffer) => {
    if (!isHeld) return void to.write(chunk);
    queue.push(chunk);
    held += chunk.length;
  };
  const server = createServer((client) => {
    const pair: Pair = {
      client,
      server: connect(Number(upstream.port), upstream.hostname),
      toClient: [],
      toServer: [],
      doom: undefined,
      swallowed: [],
    };
    pairs.add(pair);
    client.on("data", (chunk) => {
      if (trigger !== undefined && chunk.includes(trigger)) answersHeld = true;
      if (cutTrigger !== undefined && chunk.includes(cutTrigger)) {
        pair.doom = cutTrigger;
        cutTrigger = undefined;
      }
      if (delayTrigger !== undefined && chunk.includes(delayTrigger.text)) {
        const { delayMs } = delayTrigger;
        delayTrigger = undefined;
        delayCount += 1;
        client.pause();
        setTimeout(() => {
          pass(requestsHeld, pair.toServer, pair.server, chunk);
          client.resume();
        }, delayMs);
        return;
      }
      pass(requestsHeld, pair.toServer, pair.server, chunk);
    });
    pair.server.on("data", (chunk) => {
      if (pair.doom === undefined) return pass(answersHeld, pair.toClient, client, chunk);
      pair.swallowed.push(chunk);
      if (!chunk.subarray(-6, -1).equals(READY_FOR_QUERY)) return;
      const answer = Buffer.concat(pair.swallowed.splice(0));
      if (TOUCHED_NOTHING.some((tag) => answer.includes(tag))) {
        cutTrigger ??= pair.doom;
        pair.doom = undefined;
        return pass(answersHeld, pair.toClient, client, answer);
      }
      cutCount += 1;
      client.destroy();
    });
    const end = () => {
      pairs.delete(pair);
      client.destroy();
      pair.server.destroy();
    };
    for (const socket of [client, pair.server]) socket.on("error", end).on("close", end);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = new URL(databaseUrl);
  url.hostname = "127.0.0.1";
  url.port = String((server.address() as AddressInfo).port);

  return {
    url: url.href,
    holdAnswersAfter: (text) => {
      trigger = text;
    },
    holdRequests: () => {
      requestsHeld = true;
    },
    cutAfter: (text) => {
      cutTrigger = text;
    },
    delayNext: (text, delayMs) => {
      delayTrigger = { text, delayMs };
    },
    delays: () => delayCount,
    cuts: () => cutCount,
    heldBytes: () => held,
    letGo: () => {
      trigger = undefined;
      answersHeld = false;
      requestsHeld = false;
      for (const pair of pairs) {
        for (const chunk of pair.toServer.splice(0)) pair.server.write(chunk);
        for (const chunk of pair.toClient.splice(0)) pair.client.write(chunk);
      }
    },
    cut: () => {
      for (const pair of [...pairs]) pair.client.destroy();
    },
    close: async () => {
      for (const pair of [...pairs]) pair.client.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
