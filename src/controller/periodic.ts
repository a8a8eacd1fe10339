import type { Logger } from "../base/log.ts";

/** A loop that looks at regular times, and at once when it is told to. */
export interface Periodic {
  /** Looks now; several wishes while one look is under way make one more look. */
  now(): void;
  /** Ends the loop and waits for a look under way. */
  close(): Promise<void>;
}

/** Starts a loop. A look that fails is logged and made again at its time: nothing ends it but `close`. */
export function startPeriodic(name: string, everyMs: number, log: Logger, look: () => Promise<void>): Periodic {
  let timer: NodeJS.Timeout | undefined;
  let looking: Promise<void> | undefined;
  let again = false;
  let closed = false;
  const begin = () => {
    clearTimeout(timer);
    if (closed) return;
    if (looking) {
      again = true;
      return;
    }
    looking = look()
      .catch((error: unknown) => log.warn({ err: error, loop: name }, "a look failed; it is made again at its time"))
      .finally(() => {
        looking = undefined;
        if (closed) return;
        if (again) {
          again = false;
          begin();
        } else timer = setTimeout(begin, everyMs);
      });
  };
  begin();
  return {
    now: begin,
    close: async () => {
      closed = true;
      clearTimeout(timer);
      await looking;
    },
  };
}
