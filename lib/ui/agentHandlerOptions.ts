import type { Observable, ObservableInput } from 'rxjs';
import type { Answers } from '../core/approval.js';
import type { Checkpoint } from '../core/checkpoint.js';
import type { StreamEvent } from '../core/event.js';
import type { Input } from '../core/input.js';
import type { Message } from '../core/message.js';
import type { Runs } from './createRuns.js';
import type { RunStore } from './runStore.js';
import type { ServerSentEventsOptions } from './serverSentEvents.js';

/** Options of `agentHandler`. `C` is the type of the user's own value for tools. */
export interface AgentHandlerOptions<C = unknown> extends ServerSentEventsOptions {
  /** The runs that go on. Default: `createRuns()`. */
  readonly runs?: Runs | undefined;
  /** Where runs that have ended are kept. Default: in memory, until the process ends. */
  readonly store?: RunStore | undefined;
  /**
   * Whether the store receives a checkpoint after each turn and each tool result. A run whose process ended then goes
   * on when its page comes back: no turn and no executed tool is repeated. Default: false, such a run is lost.
   */
  readonly checkpoints?: boolean | undefined;
  /**
   * Says who asks: the option `context` of the run. If it throws, the request is answered with 403. Default: everybody
   * may ask, and the context is undefined.
   */
  readonly context?: ((request: Request) => C | ObservableInput<C>) | undefined;
  /** The size of a request that is answered with 413, in bytes. Default: 1000000. */
  readonly maxBodyBytes?: number | undefined;
}

/** What `agentHandler` needs of an agent: what `createAgent` returns. */
export interface HandledAgent<C = unknown> {
  stream(
    input: Input,
    options: HandledRunOptions<C> & { readonly history: readonly Message[] },
  ): Observable<StreamEvent>;
  resume(checkpoint: Checkpoint, options: HandledRunOptions<C> & Answers): Observable<StreamEvent>;
}

/** The options of a run that `agentHandler` starts. */
export interface HandledRunOptions<C = unknown> {
  readonly stop: Observable<void>;
  readonly fragments: true;
  readonly checkpoints: boolean;
  readonly context: C;
}
