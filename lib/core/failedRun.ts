import { errorText } from './errors.js';
import { isWeakKey } from './json/json.js';
import type { Message } from './message.js';
import type { Usage } from './usage.js';

/** What a run had done when it failed. */
export interface FailedRun {
  /** The complete messages that the run had added. */
  readonly messages: readonly Message[];
  /** The text of the failed turn that is in no message, as it was streamed. */
  readonly partialText: string;
  /** All visible text that the run had streamed, including `partialText`. */
  readonly text: string;
  /** All thinking that the run had streamed. */
  readonly thinking: string;
  /** The sum of the usage of all turns; of the failed turn, as far as the provider had reported it. */
  readonly usage: Usage;
  /** The number of the turn that failed, from 1. */
  readonly turn: number;
  /** The prompts that had arrived and did not join the run. Absent if there are none. */
  readonly prompts?: readonly Message[];
  /** The name of the orchestrator; absent in a run without an agent. */
  readonly orchestrator?: string;
}

const runs = new WeakMap<object, FailedRun>();

/**
 * Returns what a run had done when it failed with this error.
 *
 * The conversation can continue from there: append the input, `messages` and, if it should be kept, the partial text to
 * the history. Calls without a result are answered as cancelled when the history is sent. The data is not a property of
 * the error, so that a log of the error does not contain the conversation.
 *
 * ```ts
 * agent.stream('Hi', { history }).subscribe({
 *   error(error: unknown) {
 *     const { messages = [], partialText = '' } = runOf(error) ?? {};
 *     history.push(userMessage('Hi'), ...messages);
 *     if (partialText !== '') history.push(modelMessage(partialText));
 *   },
 * });
 * ```
 *
 * @param error The error that a run emitted. A run that fails with a value that is not an object emits an `Error` with
 * the value as its `cause`.
 * @returns What the run had done; undefined if the error is not that of a run that had begun. If several runs fail with
 * the same error object, the data is that of the last one.
 */
export const runOf = (error: unknown): FailedRun | undefined => (isWeakKey(error) ? runs.get(error) : undefined);

/** Records a run under its error, and returns the error. A value that is not an object is wrapped in an `Error`. */
export function recordRun(thrown: unknown, run: FailedRun): object {
  const error = isWeakKey(thrown) ? thrown : new Error(errorText(thrown), { cause: thrown });
  runs.set(error, run);
  return error;
}
