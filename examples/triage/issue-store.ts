import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";

export interface Issue {
  readonly number: number;
  readonly title: string;
  readonly body: string;
  readonly labels: readonly string[];
  readonly state: "open" | "closed";
  readonly comments: readonly string[];
}

interface State {
  /** Issues by repository. */
  readonly repositories: Record<string, Issue[]>;
  /** What each idempotency key's effect answered. */
  readonly answers: Record<string, unknown>;
}

const issue = (number: number, title: string, state: Issue["state"], ...labels: string[]): Issue => ({
  number,
  title,
  body: "",
  labels,
  state,
  comments: [],
});

const firstIssues: readonly Issue[] = [
  issue(1, "Login page is slow on Mondays", "open", "bug"),
  issue(2, "Export ignores the time zone", "open", "bug"),
  issue(3, "Add a dark theme", "closed", "feature"),
  issue(4, "Document the webhook format", "open", "docs"),
];

/** The tracker's issues, in memory or in a file. An effect and the answer for its key are one write: both stand, or neither. */
export class IssueStore {
  readonly #file: string | undefined;
  #state: State = { repositories: { "acme/app": [...firstIssues] }, answers: {} };

  constructor(file?: string) {
    this.#file = file;
    if (file !== undefined && existsSync(file)) this.#state = JSON.parse(readFileSync(file, "utf8")) as State;
  }

  issues(repo: string): readonly Issue[] {
    return this.#state.repositories[repo] ?? [];
  }

  /**
   * Runs `effect` once per key: a repeated key gets the first answer and changes nothing.
   * @param key the call's idempotency key; a call without one always takes effect
   * @param effect the repository's issues after the change, and what to answer
   */
  once<Answer>(
    key: string | undefined,
    repo: string,
    effect: (issues: readonly Issue[]) => { readonly issues: Issue[]; readonly answer: Answer },
  ): Answer {
    const { repositories, answers } = this.#state;
    if (key !== undefined && Object.hasOwn(answers, key)) return answers[key] as Answer;
    const { issues, answer } = effect(this.issues(repo));
    this.#save({
      repositories: { ...repositories, [repo]: issues },
      answers: key === undefined ? answers : { ...answers, [key]: answer },
    });
    return answer;
  }

  #save(state: State): void {
    if (this.#file !== undefined) {
      // Renamed into place, so that a crash leaves the old state or the new one.
      writeFileSync(`${this.#file}.new`, JSON.stringify(state, undefined, 2));
      renameSync(`${this.#file}.new`, this.#file);
    }
    this.#state = state;
  }
}
