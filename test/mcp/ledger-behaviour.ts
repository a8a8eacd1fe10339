import type { JsonObject } from "../../src/base/exact-json.ts";

/** What goes wrong with one `tools/call`. `tool` limits it to that tool; each is used up by one call unless `times` says more. */
export type Fault = { readonly tool?: string; readonly times?: number } & (
  | {
      readonly kind: "status";
      readonly status: number;
      readonly headers?: Record<string, string>;
      readonly body?: string;
    }
  /** The connection is cut before the effect, after it, or in the middle of the answer. */
  | { readonly kind: "dropBefore" | "dropAfter" | "cutAnswer" }
  /** The effect takes place, the answer waits for `release`. `holdBefore`: the effect waits too. */
  | { readonly kind: "hold" | "holdBefore" }
  /** The effect takes place this much later. */
  | { readonly kind: "delay"; readonly ms: number }
  /** The body of the HTTP response, byte for byte. */
  | { readonly kind: "raw"; readonly body: string; readonly contentType?: string }
  /** The result, as JSON text with exact digits. */
  | { readonly kind: "result"; readonly resultText: string }
  | { readonly kind: "error"; readonly code: number; readonly message: string }
  /** An SSE stream with progress notifications before its answer. */
  | { readonly kind: "progress"; readonly count: number; readonly everyMs: number }
  /** An SSE stream that ends without the answer. With `eventId` it can be resumed by GET (older protocols). */
  | { readonly kind: "endStream"; readonly eventId?: string }
);

/** How the server behaves; all of it can be changed while it runs, also through the control endpoint. */
export interface Behaviour {
  /** The tools it lists, as they go on the wire. */
  tools: readonly unknown[];
  /** JSON text of the result of each tool; the others answer with the arguments and the number of their effect. */
  results: Record<string, string>;
  faults: Fault[];
  /** Which protocols it speaks. */
  eras: "both" | "modern" | "legacy";
  /** How it answers a method of the modern protocol when it does not speak it. */
  refusal: "methodNotFound" | "invalidParams" | "http400" | "version400" | "discover200" | "html";
  /** Whether older clients get a session. */
  sessions: boolean;
  /** How it answers an unknown session. */
  unknownSession: 404 | 400 | 401;
  /** Whether answers come as an SSE stream. */
  stream: boolean;
  /** Tools per page; `endless` hands out the same cursor for ever. */
  paging: number | "endless";
  /** Whether a known key has no second effect. */
  deduplicates: boolean;
  ttlMs: number;
}

export const defaultTools: readonly JsonObject[] = ["read", "write"].map((name) => ({
  name,
  description: `Test tool ${name}.`,
  inputSchema: { type: "object", properties: { value: {} } },
}));

export function defaultBehaviour(): Behaviour {
  return {
    tools: defaultTools,
    results: {},
    faults: [],
    eras: "both",
    refusal: "methodNotFound",
    sessions: false,
    unknownSession: 404,
    stream: false,
    paging: 1_000,
    deduplicates: true,
    ttlMs: 0,
  };
}

/** Takes the fault meant for this call, if any. */
export function takeFault(behaviour: Behaviour, tool: string): Fault | undefined {
  const index = behaviour.faults.findIndex((fault) => fault.tool === undefined || fault.tool === tool);
  const fault = behaviour.faults[index];
  if (!fault) return undefined;
  const left = (fault.times ?? 1) - 1;
  if (left > 0) behaviour.faults[index] = { ...fault, times: left };
  else behaviour.faults.splice(index, 1);
  return fault;
}
