import type { Observable } from 'rxjs';
import type { StreamEvent } from '../../core/event.js';
import type { Receiver } from '../ports/runLog.js';
import type { Envelope } from './lateReader.js';

/** Options of `shareRun`. */
export interface ShareRunOptions {
  /**
   * How long the run continues without a subscriber, in milliseconds. Then its source is unsubscribed, which aborts the
   * request and the tools, unless `stop` ends it. Default: no limit.
   */
  readonly grace?: number | undefined;
  /**
   * Called when the grace time is over, to end the run with a partial result. If it continues for another grace time,
   * and for at least 10 seconds, its source is unsubscribed. Default: it is unsubscribed at once.
   */
  readonly stop?: (() => void) | undefined;
}

/** The state of a run. `abandoned`: it had no subscriber for the grace time, was unsubscribed, or others have it. */
export type SharedRunStatus = 'idle' | 'running' | 'completed' | 'failed' | 'abandoned';

/** One run with any number of subscribers. */
export interface SharedRun<E extends StreamEvent = StreamEvent> {
  /** The events of the run, from its start. A late subscriber receives the events that it missed, then the rest. */
  readonly events$: Observable<E>;
  readonly status: SharedRunStatus;
  /**
   * The events with their ids.
   *
   * @param after The `id` of the last envelope that was received. Default: the start of the run.
   * @param receiver Who receives them: nothing is buffered for a slow one, and the deltas that it has missed are
   * merged. Default: one that is never full.
   */
  envelopes(after?: string, receiver?: Receiver): Observable<Envelope<E>>;
  /** Starts the run without a subscriber. The first subscriber does this as well. */
  start(): void;
  /** Ends the run for all subscribers: its source is unsubscribed, and they receive a `RunAbandonedError`. */
  unsubscribe(): void;
}
