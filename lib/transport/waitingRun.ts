import type { WaitingCall } from '../core/approval.js';

/** A run that waits for a person: for decisions, results, or answers to questions. */
export interface WaitingRun {
  readonly id: string;
  /** The first line of its prompt. */
  readonly title: string;
  /** Since when it waits, in milliseconds since 1970. */
  readonly updated: number;
  /** What it waits for, also inside of inner runs. */
  readonly waiting: readonly WaitingCall[];
  /** Set if the time of a question is over, by the clock of the service: the run goes on without its answer. */
  readonly isOver?: true;
}

export interface WaitingPage {
  /** The one that began to wait last is the first. */
  readonly runs: readonly WaitingRun[];
  /** The `cursor` of the next page. Absent after the last page. */
  readonly next?: string | undefined;
}
