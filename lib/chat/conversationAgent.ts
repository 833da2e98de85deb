import type { Observable } from 'rxjs';
import type { RunOptions } from '../agent/runOptions.js';
import type { CallAnswers } from '../core/approval.js';
import type { Checkpoint } from '../core/checkpoint.js';
import { errorText, RivuletError } from '../core/errors.js';
import type { StreamEvent } from '../core/event.js';
import type { Input } from '../core/input.js';
import type { JsonObject } from '../core/json/json.js';
import type { Message } from '../core/message.js';
import type { EarlierRun } from '../transport/earlierRun.js';
import type { RunFile } from '../transport/runFiles.js';
import type { WaitingRun } from '../transport/waitingRun.js';

/** Options that a conversation passes to its agent. A local agent needs `history`, and a remote one the ids. */
export interface ConversationRunOptions {
  /** The id of the run: 32 hexadecimal digits. */
  readonly id: string;
  /** The runs before it, oldest first. */
  readonly earlier: readonly EarlierRun[];
  /** The messages before the input, oldest first. */
  readonly history: readonly Message[];
  /** Its first value stops the run, which then ends with its result. */
  readonly stop: Observable<unknown>;
  /** The ids of the calls to cancel. The run continues. */
  readonly cancel: Observable<string>;
  /** Prompts that join the run. Those that do not are sent after it. */
  readonly prompts?: Observable<Input> | undefined;
  /** Answers for a run that waits in memory. Any other is sent them when it has ended as waiting. */
  readonly given?: Observable<CallAnswers> | undefined;
  /** Ends a delay before the connection to the service is opened again. */
  readonly reconnect?: Observable<unknown> | undefined;
  readonly fragments: true;
  /** The option `context` of the conversation. */
  readonly context: unknown;
  /** The option `wrapTurn` of a local run. */
  readonly wrapTurn?: RunOptions['wrapTurn'];
}

/** An agent for a conversation. `createAgent` and `remoteAgent` return one. */
export interface ConversationAgent {
  /** Runs a prompt. Cold: unsubscribing leaves the run. */
  stream(input: Input, options: ConversationRunOptions): Observable<StreamEvent>;
  /**
   * Continues a run whose calls waited.
   *
   * @param checkpoint The checkpoint of the run. Undefined if the server keeps it.
   * @param options `earlier` ends with the id of the run that waited.
   */
  resume(
    checkpoint: Checkpoint | undefined,
    options: Omit<ConversationRunOptions, 'history'> & CallAnswers,
  ): Observable<StreamEvent>;
  /**
   * Joins a run that does not end with the page, and emits its events from its start. Absent if runs end with the page.
   */
  join?(id: string, options: RunNotifiers): Observable<StreamEvent>;
  /**
   * Stops a run that does not end with the page, and completes when the service has received the stop or does not know
   * the run. The conversation calls it for each stop, also after a reload; `stream`, `resume` and `join` may then
   * ignore their notifier. Absent if that notifier is enough.
   */
  stop?(id: string): Observable<never>;
  /**
   * Emits the runs of the person that wait, of all conversations. Absent if there is no list: the conversation does not
   * see then what other devices answer, and that the time of a question is over.
   */
  waiting?(): Observable<readonly WaitingRun[]>;
  /** Returns the address at which the server has a file of a run. Absent if it has none: files are stored here. */
  readonly fileAddress?: ((file: RunFile) => string) | undefined;
}

export type RunNotifiers = Pick<ConversationRunOptions, 'stop' | 'cancel' | 'prompts' | 'given' | 'reconnect'>;

const notReceived = 'The stop has not reached the server.';
const notices = { not_stopped: notReceived, not_cancelled: notReceived, not_answered: 'The answer was not accepted.' };

/** The notice of a stop that has not reached the server, or of an answer that it has refused. */
export const noticeOf = (code: keyof typeof notices, thrown: unknown): JsonObject => ({
  code,
  message: `${notices[code]} ${errorText(thrown)}`,
  ...(thrown instanceof RivuletError ? { error: thrown.toJSON() } : {}),
});
