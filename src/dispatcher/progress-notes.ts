import type { RunProgress } from "../journal/claims.ts";

const FIRST_PAUSE_MS = 1_000;
const PAUSE_MS_MAX = 60_000;

interface Note {
  latest: RunProgress;
  pauseMs: number;
  timer: NodeJS.Timeout | undefined;
  written: string;
}

/**
 * Notes of how held runs look, at growing pauses: a run that ends within a second writes none, one that lasts a day writes
 * few, so that a status costs the API server little (semantics 14.4).
 */
export class ProgressNotes {
  readonly #write: (progress: RunProgress) => void;
  readonly #notes = new Map<string, Note>();

  constructor(write: (progress: RunProgress) => void) {
    this.#write = write;
  }

  note(progress: RunProgress): void {
    const note = this.#notes.get(progress.runId) ?? {
      latest: progress,
      pauseMs: FIRST_PAUSE_MS,
      timer: undefined,
      written: "",
    };
    note.latest = progress;
    this.#notes.set(progress.runId, note);
    note.timer ??= setTimeout(() => this.#due(note), note.pauseMs);
  }

  #due(note: Note): void {
    note.timer = undefined;
    note.pauseMs = Math.min(PAUSE_MS_MAX, note.pauseMs * 2);
    const text = JSON.stringify(note.latest);
    if (text === note.written) return;
    note.written = text;
    this.#write(note.latest);
  }

  forget(runId: string): void {
    clearTimeout(this.#notes.get(runId)?.timer);
    this.#notes.delete(runId);
  }

  close(): void {
    for (const runId of [...this.#notes.keys()]) this.forget(runId);
  }
}
