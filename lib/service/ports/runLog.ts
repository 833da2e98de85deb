import type { Observable } from 'rxjs';
import type { CallAnswers } from '../../core/approval.js';
import type { StreamEvent } from '../../core/event.js';
import type { JsonObject } from '../../core/json/json.js';
import type { Message } from '../../core/message.js';
import type { Envelope } from '../runs/lateReader.js';

/** A message to the executor of a run, from anyone who may use the run. */
export type RunMessage =
  | { readonly type: 'stop' }
  /** Answers to questions for which the run waits in memory. */
  | { readonly type: 'answers'; readonly answers: CallAnswers }
  /** A prompt that joins the run. */
  | { readonly type: 'prompt'; readonly input: readonly Message[] }
  /** Cancels the call with this id. The run continues. */
  | { readonly type: 'cancel'; readonly id: string };

/** A message, and its position among those of its run. */
export interface SentMessage {
  readonly position: string;
  readonly message: RunMessage;
}

/** How a run ended. */
export interface RunEnd {
  /** The description of the error, if the run failed. Default: it completed. */
  readonly failure?: JsonObject | undefined;
  /** Until when the events can be read, in milliseconds since 1970. Default: as the log decides. */
  readonly expires?: number | undefined;
  /** Whose run it is: a memory that is full removes runs of the owner that uses most of it. Default: of nobody. */
  readonly owner?: string | undefined;
}

/** How many messages may wait for a run. */
export interface MessageRoom {
  /** The position of the last message that does not wait any more. */
  readonly after: string;
  readonly count: number;
  /** About how many bytes the messages may have together. A message that waits alone may be larger. */
  readonly bytes: number;
}

/** The receiver of a stream that is read at its speed. */
export interface Receiver {
  /** While it is full, it receives nothing. */
  readonly isFull: boolean;
  /** Emits when it is no longer full. */
  readonly drained: Observable<unknown>;
}

/** What a log has of a run. */
export interface LogState {
  /** The number of the last executor that has opened, appended or ended. */
  readonly attempt: number;
  readonly hasEvents: boolean;
  readonly hasEnded: boolean;
}

/**
 * The events of the runs of a service, and the messages to these runs.
 *
 * All Observables are cold. `append`, `end` and `send` take effect in the order in which they are subscribed; a log may
 * complete them late. `logContract` in `rivulet/testing` has the checks for an implementation.
 */
export interface RunLog {
  /**
   * Whether other processes read and write this log. If not, a service answers 503 to a request for a run that another
   * process executes.
   */
  readonly isShared: boolean;
  /**
   * Appends events to a run, and completes when they are stored. The first call opens the run, even without events.
   *
   * @param events In their compact form, in which each text is once.
   * @param attempt The number of the executor, from 1. It fails with a RunTakenError if a later one has appended, or if
   * the run has ended.
   */
  append(run: string, attempt: number, events: readonly StreamEvent[]): Observable<never>;
  /**
   * The events of a run: those that are there, then each as it arrives. Consecutive deltas may be merged. It completes
   * at the end of the run, and emits the events before the end to a late reader too.
   *
   * @param from The `id` of the last envelope that was read. Default: the start of the run.
   * @param receiver Who reads: what a full receiver does not take stays in the log, where deltas are merged, until it
   * has drained, even if the log removes the run in the meantime. Default: one that is never full.
   * @returns The envelopes. It fails with a RunNotFoundError if there is no such run, with a RemoteRunError if the run
   * failed, and with a ConfigurationError if `from` is not a position of the run.
   */
  read(run: string, from?: string, receiver?: Receiver): Observable<Envelope>;
  /** Ends a run, and completes when the end is stored. It fails with a RunTakenError, as `append` does. */
  end(run: string, attempt: number, end?: RunEnd): Observable<never>;
  /** What the log has of a run; undefined if there is no such run. It changes nothing. */
  state(run: string): Observable<LogState | undefined>;
  /**
   * Sends a message to a run.
   *
   * @param room How many messages may wait for the run, with this one. Default: any number.
   * @returns Whether there is such a run that has not ended. It fails with a RunFullError if there is no room.
   */
  send(run: string, message: RunMessage, room?: MessageRoom): Observable<boolean>;
  /**
   * The messages to a run, for its executor: those that are there, then each as it arrives. It completes at the end of
   * the run, and fails with a RunNotFoundError if there is no such run.
   *
   * @param from The position of the last message that was handled. Default: all messages.
   */
  messages(run: string, from?: string): Observable<SentMessage>;
}
