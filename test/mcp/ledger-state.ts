import type { IncomingMessage } from "node:http";
import type { Json, JsonObject } from "../../src/base/exact-json.ts";
import type { Ledger } from "./ledger.ts";
import type { Behaviour } from "./ledger-behaviour.ts";

/** What a ledger server saw besides its effects. */
export interface Seen {
  /** Requests by JSON-RPC method. */
  readonly methods: Record<string, number>;
  /** The headers and `_meta` of the last `tools/call`. */
  lastHeaders: IncomingMessage["headers"];
  lastMeta: JsonObject;
  /** Ids that `notifications/cancelled` named, and calls whose connection the client closed before the answer. */
  readonly cancelledIds: Json[];
  closedByClient: number;
  /** Answers of the client to questions of the server. */
  readonly clientAnswers: JsonObject[];
}

/** What a ledger server remembers while it runs. */
export class State {
  readonly ledger: Ledger;
  readonly behaviour: Behaviour;
  readonly sessions = new Set<string>();
  readonly held = new Set<() => void>();
  /** Answers of streams that ended early, by event id, for their resumption. */
  readonly resumable = new Map<string, string>();
  readonly seen: Seen = {
    methods: {},
    lastHeaders: {},
    lastMeta: {},
    cancelledIds: [],
    closedByClient: 0,
    clientAnswers: [],
  };

  constructor(ledger: Ledger, behaviour: Behaviour) {
    this.ledger = ledger;
    this.behaviour = behaviour;
  }

  hold(): Promise<void> {
    return new Promise((resolve) => this.held.add(resolve));
  }

  release(): void {
    for (const go of this.held) go();
    this.held.clear();
  }
}
