import type { Condition } from "../api/conditions.ts";

/** A condition as a step states it; when it last changed is worked out here. */
export interface StatedCondition {
  readonly type: string;
  readonly status: "True" | "False" | "Unknown";
  readonly reason: string;
  readonly message: string;
}

/** Longest message: with a hundred conditions a status stays within its bound. */
const MESSAGE_CHARACTERS_MAX = 2_048;

/**
 * The conditions of a status: those stated, each with the time at which its status last changed. Those not stated are gone.
 * @param previous the conditions that stand now
 * @param at the time of this pass, RFC 3339
 */
export function mergeConditions(
  previous: readonly Condition[],
  stated: readonly StatedCondition[],
  generation: number,
  at: string,
): Condition[] {
  return stated.map(({ type, status, reason, message }) => {
    const before = previous.find((condition) => condition.type === type);
    const lastTransitionTime = before?.status === status ? before.lastTransitionTime : at;
    return { type, status, observedGeneration: generation, lastTransitionTime, reason, message: cutMessage(message) };
  });
}

/** A message within its bound, saying that it was cut. */
export function cutMessage(message: string, charactersMax = MESSAGE_CHARACTERS_MAX): string {
  return message.length <= charactersMax
    ? message
    : `${message.slice(0, charactersMax - 20)}… (${message.length} in all)`;
}
