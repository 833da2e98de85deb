import { errorText, RivuletError } from './errors.js';
import { isWeakKey, nonEmptyString } from './json/json.js';
import { modelMessage, type Message } from './message.js';
import type { Usage } from './usage.js';

/** The content and the usage of a run when it failed. */
export interface FailedRun {
  /**
   * The complete messages that the run had added, and the results of the calls of the last one that had ended. Of a
   * response that broke off, the calls that `eagerTools` had begun.
   */
  readonly messages: readonly Message[];
  /** The text of the failed turn that is in no message, without the prefix of `prefixAfterTools`. */
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
 * Returns the content and the usage of the run that failed with this error.
 *
 * The conversation can continue from there: append the input, `messages` and, if it should be kept, the partial text to
 * the history. Calls without a result are answered as cancelled when the history is sent. The data is not a property of
 * the error, so that a log of the error does not contain the conversation.
 *
 * ```ts
 * agent.stream('Hi', { history }).subscribe({
 *   error(error: unknown) {
 *     const { messages = [], partialText = '' } = failedRunOf(error) ?? {};
 *     history.push(userMessage('Hi'), ...messages);
 *     if (partialText !== '') history.push(modelMessage(partialText));
 *   },
 * });
 * ```
 *
 * @param error The error that a run emitted. A run that fails with a value that is not an object emits an `Error` with
 * the value as its `cause`. If two runs fail with the same object, the second one emits an error with the same name and
 * message, and the object as its `cause`.
 * @returns The content and the usage; undefined if the error is not that of a run that had begun.
 */
export const failedRunOf = (error: unknown): FailedRun | undefined => (isWeakKey(error) ? runs.get(error) : undefined);

export function messagesOfFailed(thrown: unknown): readonly Message[] | undefined {
  const run = failedRunOf(thrown);
  if (!run) return undefined;
  return run.partialText === '' ? run.messages : [...run.messages, modelMessage(run.partialText)];
}

/** A primitive is wrapped. An error of two runs (one `AbortSignal`) is copied, so that each keeps its conversation. */
export function recordFailedRun(thrown: unknown, run: FailedRun): object {
  const error = !isWeakKey(thrown) || runs.has(thrown) ? wrap(thrown) : thrown;
  runs.set(error, run);
  return error;
}

/** Copies an error, which becomes the `cause`. The copy has its name and message, and Rivulet's errors their class. */
function wrap(cause: unknown): Error {
  if (cause instanceof RivuletError) {
    const { stack: _, ...own } = Object.getOwnPropertyDescriptors(cause);
    return Object.create(Object.getPrototypeOf(cause) as object, { ...own, cause: { value: cause } }) as Error;
  }
  const error = new Error(errorText(cause), { cause });
  const name = nonEmptyString((cause as Partial<Error> | null | undefined)?.name);
  if (name) Object.defineProperty(error, 'name', { value: name });
  return error;
}
