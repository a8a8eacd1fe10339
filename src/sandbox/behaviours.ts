/**
 * The numbered behaviours of the sandbox. A change that the replay of an older run could notice (another order of
 * commands, another text of a value, another result of a global) gets the next number here, with one line that says what
 * changed, and its code asks `spec.behaviours.includes(n)`. A history recorded before it is added to the replayed ones, and
 * keeps its own numbers for ever. So far there is none.
 */
export const currentBehaviours: readonly number[] = [];
